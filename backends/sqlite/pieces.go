package sqlite

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

// PieceVectors implements [storage.PieceVectors]. The keys travel as one JSON list, so that the statement is the same
// for any number.
func (s *memories) PieceVectors(ctx context.Context, model string, keys []chat.PieceKey) (found map[chat.PieceKey][]byte, err error) {
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, `
			SELECT piece, vector FROM piece_vectors WHERE model = ? AND piece IN (SELECT unhex(value) FROM json_each(?))`,
			record.HashOf(model), record.JSON(record.PieceKeys(keys)))
		if err != nil {
			return err
		}
		all, err := collect(rows, record.ScanPieceVector)
		found = record.PieceVectors(all)
		return err
	})
	return found, wrap(err, "reading the vectors of %d pieces of knowledge", len(keys))
}

// SavePieceVectors implements [storage.PieceVectors].
func (s *memories) SavePieceVectors(ctx context.Context, model string, vectors map[chat.PieceKey][]byte) error {
	now := record.Nanos(time.Now())
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		for key, vector := range vectors {
			_, err := tx.ExecContext(ctx, `
				INSERT INTO piece_vectors (model, piece, used, vector) VALUES (?, ?, ?, ?)
				ON CONFLICT (model, piece) DO UPDATE SET used = excluded.used, vector = excluded.vector`,
				record.HashOf(model), key[:], now, vector)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "saving the vectors of %d pieces of knowledge", len(vectors))
}

// UsePieceVectors implements [storage.PieceVectors].
func (s *memories) UsePieceVectors(ctx context.Context, model string, keys []chat.PieceKey) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		_, err := tx.ExecContext(ctx, `UPDATE piece_vectors SET used = ? WHERE model = ? AND piece IN (SELECT unhex(value) FROM json_each(?))`,
			record.Nanos(time.Now()), record.HashOf(model), record.JSON(record.PieceKeys(keys)))
		return err
	})
	return wrap(err, "noting the use of %d pieces of knowledge", len(keys))
}
