package postgres

import (
	"context"

	"parley/backends/record"
	"parley/core/chat"
)

// PieceVectors implements [storage.PieceVectors].
func (s *memories) PieceVectors(ctx context.Context, model string, keys []chat.PieceKey) (found map[chat.PieceKey][]byte, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `SELECT piece, vector FROM piece_vectors WHERE model = $1 AND piece IN (SELECT decode(k, 'hex') FROM unnest($2::text[]) k)`,
			record.HashOf(model), record.PieceKeys(keys))
		all, err := collect(rows, err, record.ScanPieceVector)
		found = record.PieceVectors(all)
		return err
	})
	return found, wrap(err, "reading the vectors of %d pieces of knowledge", len(keys))
}

// SavePieceVectors implements [storage.PieceVectors]. One statement saves all, sorted by key: two replicas that save
// the same pieces lock their rows in the same order, and can't wait for each other.
func (s *memories) SavePieceVectors(ctx context.Context, model string, vectors map[chat.PieceKey][]byte) error {
	var keys []chat.PieceKey
	for k := range vectors {
		keys = append(keys, k)
	}
	names := record.PieceKeys(keys)
	packed := make([][]byte, 0, len(keys))
	for _, k := range keys {
		packed = append(packed, vectors[k])
	}
	err := s.write(ctx, nil, func(ctx context.Context, q querier) error {
		_, err := q.Exec(ctx, `
			INSERT INTO piece_vectors (model, piece, used, vector)
			SELECT $1, decode(k, 'hex'), $2, v FROM unnest($3::text[], $4::bytea[]) AS n (k, v) ORDER BY k
			ON CONFLICT (model, piece) DO UPDATE SET used = excluded.used, vector = excluded.vector`,
			record.HashOf(model), s.clock.nanos(), names, packed)
		return err
	})
	return wrap(err, "saving the vectors of %d pieces of knowledge", len(vectors))
}

// UsePieceVectors implements [storage.PieceVectors]. It skips rows that another replica uses or saves at this moment:
// that one writes the same time. Rows are found by ctid, their place in the table, because the lock must be taken by a
// subquery.
func (s *memories) UsePieceVectors(ctx context.Context, model string, keys []chat.PieceKey) error {
	err := s.write(ctx, nil, func(ctx context.Context, q querier) error {
		_, err := q.Exec(ctx, `
			UPDATE piece_vectors SET used = $2 WHERE ctid IN (
				SELECT ctid FROM piece_vectors WHERE model = $1 AND piece IN (SELECT decode(k, 'hex') FROM unnest($3::text[]) k) FOR UPDATE SKIP LOCKED)`,
			record.HashOf(model), s.clock.nanos(), record.PieceKeys(keys))
		return err
	})
	return wrap(err, "noting the use of %d pieces of knowledge", len(keys))
}
