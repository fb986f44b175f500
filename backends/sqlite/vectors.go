package sqlite

import (
	"context"
	"errors"
	"math"
	"time"

	"parley/backends/record"
	"parley/core/chat"
	"parley/internal/search"
)

// Unembedded implements [storage.VectorIndex]. "Another model than ?1" is written as two ranges, which the index on
// (model, seq) can answer; each part stops at the limit. One part with <> would read the whole table while nothing
// waits.
func (s *memories) Unembedded(ctx context.Context, model string, limit int) (all []chat.Unembedded, err error) {
	err = s.read(ctx, func(db *conn) error {
		all, err = list(ctx, db, record.ScanUnembedded, `
			SELECT v.seq, v.version, `+record.MemoryColumns+` FROM (
				SELECT seq, version FROM (SELECT seq, version FROM memory_vectors WHERE model < ?1 ORDER BY model DESC, seq DESC LIMIT ?2 + 0)
				UNION ALL
				SELECT seq, version FROM (SELECT seq, version FROM memory_vectors WHERE model > ?1 ORDER BY model, seq DESC LIMIT ?2 + 0)
			) v JOIN (SELECT seq AS number, `+record.MemoryColumns+` FROM memories) m ON m.number = v.seq
			ORDER BY v.seq DESC LIMIT ?2 + 0`, record.HashOf(model), limit)
		return err
	})
	return all, wrap(err, "looking for messages without vectors")
}

// ReleaseUnembedded implements [storage.VectorIndex]. There is only one process, so nothing was reserved.
func (*memories) ReleaseUnembedded(context.Context, []chat.Ticket) error { return nil }

// SaveVectors implements [storage.VectorIndex]. The version is compared, so a vector of a text that was revised
// meanwhile is dropped.
func (s *memories) SaveVectors(ctx context.Context, model string, vectors []chat.Vector) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		for _, v := range vectors {
			_, err := tx.ExecContext(ctx, `UPDATE memory_vectors SET model = ?, vector = ? WHERE seq = ? AND version = ?`,
				record.HashOf(model), search.Pack(v.Vector), v.Ticket.Seq, v.Ticket.Version)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "saving %d vectors", len(vectors))
}

// awaitVector adds a row without a vector for a message, which Unembedded then returns. Model 0 is none: see
// record.HashOf.
func awaitVector(ctx context.Context, tx *conn, m record.Numbered) error {
	if record.WordsOf(m.Memory) == "" || m.Kind != chat.Said {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO memory_vectors (room, turn, seq, model, version, vector) VALUES (?, ?, ?, 0, random(), x'')
		ON CONFLICT DO NOTHING`, record.HashOf(string(m.Room)), m.Turn, m.Seq)
	return err
}

// Backfill implements [storage.VectorBackfill]. It looks at the indexed messages only, since others get their row when
// they are indexed.
func (s *memories) Backfill(ctx context.Context, limit int) (more bool, err error) {
	err = s.writeSlowly(ctx, func(ctx context.Context, tx *conn) error {
		all, err := list(ctx, tx, record.ScanNumbered, `
			SELECT seq, turn, `+record.MemoryColumns+` FROM memories
			WHERE seq IN (SELECT rowid FROM memory_words WHERE rowid NOT IN (SELECT seq FROM memory_vectors) LIMIT ? + 0)`, limit)
		for _, m := range all {
			err = errors.Join(err, awaitVector(ctx, tx, m))
		}
		more = len(all) == limit
		return err
	})
	return more, wrap(err, "preparing vectors of earlier messages")
}

// BackfillSize implements [storage.VectorBackfill].
func (s *memories) BackfillSize(ctx context.Context, longest int) (messages, characters int, err error) {
	return s.size(ctx, `kind = '' AND seq NOT IN (SELECT seq FROM memory_vectors)`, longest)
}

// WaitingSize implements [storage.VectorBackfill].
func (s *memories) WaitingSize(ctx context.Context, model string, longest int) (messages, characters int, err error) {
	return s.size(ctx, `seq IN (SELECT seq FROM memory_vectors WHERE model <> ?)`, longest, record.HashOf(model))
}

// size counts the messages that meet the condition where.
func (s *memories) size(ctx context.Context, where string, longest int, args ...any) (messages, characters int, err error) {
	err = s.read(ctx, func(db *conn) error {
		return db.QueryRowContext(ctx, `
			SELECT count(*), ifnull(sum(min(?, length(text) + CASE content WHEN '' THEN 0 ELSE (
				SELECT ifnull(sum(length(concat(value->>'title', value->>'description', value->>'text'))), 0)
				FROM json_each(content, '$.files')) END)), 0)
			FROM memories WHERE `+where, append([]any{longest}, args...)...).
			Scan(&messages, &characters)
	})
	return messages, characters, wrap(err, "counting messages without vectors")
}

// FindVectors implements [storage.VectorIndex]. It compares q.Vector with those of all messages of the rooms: that is
// exact, and a room has few enough messages. Vectors that can't be compared are reset, so that their messages wait for
// new ones.
func (s *memories) FindVectors(ctx context.Context, q chat.Search) (found []chat.Passage, err error) {
	near := record.NearestOf(q)
	if near == nil {
		return nil, nil
	}
	err = s.read(ctx, func(db *conn) error {
		rooms, err := searchable(ctx, db, q)
		for _, room := range rooms {
			if err == nil {
				err = compareVectors(ctx, db, q, room, near)
			}
		}
		if err != nil {
			return err
		}
		all, err := turnsOf(ctx, db, rooms, near.IDs())
		found = record.Passages(near.IDs(), all, q.Limit)
		return err
	})
	if err == nil && len(near.Damaged) > 0 {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error {
			_, err := tx.ExecContext(ctx, `UPDATE memory_vectors SET model = 0, vector = x'' WHERE seq IN (SELECT value FROM json_each(?))`, record.JSON(near.Damaged))
			return err
		})
	}
	return found, wrap(err, "searching %q", q.Room)
}

// compareVectors adds the vectors of a room to near; in the room of q only those before q.Before. The rows of a room
// are neighbors in the table, sorted by turn, so this reads one range.
func compareVectors(ctx context.Context, db *conn, q chat.Search, room chat.RoomID, near *search.Nearest) (err error) {
	before := int64(math.MaxInt64)
	if room == q.Room {
		err := db.QueryRowContext(ctx, `SELECT turn FROM memories WHERE id = ? AND room = ?`, q.Before, room).Scan(&before)
		if err != nil {
			return record.UnlessMissing(record.Found(err))
		}
	}
	rows, err := db.QueryContext(ctx, `SELECT seq, vector FROM memory_vectors WHERE room = ? AND turn < ? AND model = ?`,
		record.HashOf(string(room)), before, record.HashOf(q.Model))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var seq int64
	// A rawBytes is only valid until the next row, but saves a copy of each vector; near.Add keeps none.
	var vector rawBytes
	for rows.Next() {
		if err := rows.Scan(&seq, &vector); err != nil {
			return err
		}
		near.Add(seq, vector)
	}
	return rows.Err()
}

// PieceVectors implements [storage.PieceVectors]. The keys travel as one JSON list, so that the statement is the same
// for any number.
func (s *memories) PieceVectors(ctx context.Context, model string, keys []chat.PieceKey) (found map[chat.PieceKey][]byte, err error) {
	err = s.read(ctx, func(db *conn) error {
		all, err := list(ctx, db, record.ScanPieceVector, `
			SELECT piece, vector FROM piece_vectors WHERE model = ? AND piece IN (SELECT unhex(value) FROM json_each(?))`,
			record.HashOf(model), record.JSON(record.PieceKeys(keys)))
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
