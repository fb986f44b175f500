package postgres

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/core/chat"
	"parley/internal/search"
)

// claimFor is the time that messages are left to the replica that asks a model for their vectors. If it dies, another
// gets them after that.
const claimFor = 5 * time.Minute

// Unembedded implements [storage.VectorIndex]. It claims the returned messages, so that replicas don't pay twice for
// the same vectors; SKIP LOCKED lets them claim at the same time. "Another model than $2" is written as two ranges,
// which the index on (model, seq) can answer.
func (s *memories) Unembedded(ctx context.Context, model string, limit int) (all []chat.Unembedded, err error) {
	err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
		now := s.clock.nanos()
		all, err = list(ctx, q, record.ScanUnembedded, `
			WITH mine AS (
				UPDATE memory_vectors SET claimed = $1 WHERE seq IN (
					SELECT seq FROM memory_vectors WHERE (model < $2 OR model > $2) AND claimed < $3 ORDER BY seq DESC LIMIT $4 FOR UPDATE SKIP LOCKED)
				RETURNING seq AS number, version)
			SELECT number, version, `+record.MemoryColumns+` FROM mine JOIN memories ON seq = number ORDER BY number DESC`,
			now+int64(claimFor), record.HashOf(model), now, limit)
		return err
	})
	return all, wrap(err, "looking for messages without vectors")
}

// ReleaseUnembedded implements [storage.VectorIndex].
func (s *memories) ReleaseUnembedded(ctx context.Context, tickets []chat.Ticket) error {
	err := s.write(ctx, nil, func(ctx context.Context, q querier) error {
		for _, t := range tickets {
			if _, err := q.Exec(ctx, `UPDATE memory_vectors SET claimed = 0 WHERE seq = $1 AND version = $2`, t.Seq, t.Version); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "releasing %d messages without vectors", len(tickets))
}

// SaveVectors implements [storage.VectorIndex]. The version is compared, so a vector of a text that was revised
// meanwhile is dropped.
func (s *memories) SaveVectors(ctx context.Context, model string, vectors []chat.Vector) error {
	err := s.write(ctx, nil, func(ctx context.Context, q querier) error {
		for _, v := range vectors {
			_, err := q.Exec(ctx, `UPDATE memory_vectors SET model = $1, vector = $2, claimed = 0 WHERE seq = $3 AND version = $4`,
				record.HashOf(model), search.Pack(v.Vector), v.Ticket.Seq, v.Ticket.Version)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "saving %d vectors", len(vectors))
}

// newVersion is a random version of a text. It only has to differ from the earlier versions of the same message.
const newVersion = `(random() * 9e18)::bigint`

// awaitVector adds a row without a vector for a message, which Unembedded then returns. Model 0 is none: see
// record.HashOf.
func awaitVector(ctx context.Context, q querier, m record.Numbered) error {
	if record.WordsOf(m.Memory) == "" || m.Kind != chat.Said {
		return nil
	}
	_, err := q.Exec(ctx, `
		INSERT INTO memory_vectors (seq, room, turn, model, version, vector) VALUES ($1, $2, $3, 0, `+newVersion+`, '')
		ON CONFLICT DO NOTHING`, m.Seq, m.Room, m.Turn)
	return err
}

// Backfill implements [storage.VectorBackfill]. It looks at the indexed messages only, since others get their row when
// they are indexed. FOR KEY SHARE keeps them from being deleted before the row that refers to them is inserted.
func (s *memories) Backfill(ctx context.Context, limit int) (more bool, err error) {
	err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
		all, err := list(ctx, q, record.ScanNumbered, `
			SELECT seq, turn, `+record.MemoryColumns+` FROM memories
			WHERE seq IN (SELECT w.seq FROM memory_words w WHERE w.words <> '' AND NOT EXISTS (SELECT 1 FROM memory_vectors v WHERE v.seq = w.seq) LIMIT $1)
			FOR KEY SHARE`, limit)
		for _, m := range all {
			if err == nil {
				err = awaitVector(ctx, q, m)
			}
		}
		more = len(all) == limit
		return err
	})
	return more, wrap(err, "preparing vectors of earlier messages")
}

// BackfillSize implements [storage.VectorBackfill].
func (s *memories) BackfillSize(ctx context.Context, longest int) (messages, characters int, err error) {
	return s.size(ctx, `kind = '' AND NOT EXISTS (SELECT 1 FROM memory_vectors v WHERE v.seq = m.seq)`, longest)
}

// WaitingSize implements [storage.VectorBackfill].
func (s *memories) WaitingSize(ctx context.Context, model string, longest int) (messages, characters int, err error) {
	return s.size(ctx, `EXISTS (SELECT 1 FROM memory_vectors v WHERE v.seq = m.seq AND v.model <> $2)`, longest, record.HashOf(model))
}

// size counts the messages m that meet the condition where.
func (s *memories) size(ctx context.Context, where string, longest int, args ...any) (messages, characters int, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `
			SELECT count(*), coalesce(sum(least($1, length(text) + CASE content WHEN '' THEN 0 ELSE (
				SELECT coalesce(sum(length(concat(f->>'title', f->>'description', f->>'text'))), 0)
				FROM jsonb_array_elements(coalesce(content::jsonb->'files', '[]')) f) END)), 0)
			FROM memories m WHERE `+where, append([]any{longest}, args...)...).Scan(&messages, &characters)
	})
	return messages, characters, wrap(err, "counting messages without vectors")
}

// FindVectors implements [storage.VectorIndex]. It compares find.Vector with those of all messages of the rooms: that
// is exact, needs no extension of the server, and a room has few enough messages. Vectors that can't be compared are
// reset, so that their messages wait for new ones.
func (s *memories) FindVectors(ctx context.Context, find chat.Search) (found []chat.Passage, err error) {
	near := record.NearestOf(find)
	if near == nil {
		return nil, nil
	}
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		*near = *record.NearestOf(find) // this can be another attempt, which begins with nothing
		rooms, err := searchable(ctx, q, find)
		if err != nil || len(rooms) == 0 {
			return err
		}
		rows, err := q.Query(ctx, `
			SELECT seq, vector FROM memory_vectors
			WHERE room = ANY($1) AND model = $2 AND (room <> $3 OR turn < (SELECT turn FROM memories WHERE id = $4 AND room = $3))`,
			rooms, record.HashOf(find.Model), find.Room, find.Before)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var seq int64
			var vector []byte
			if err := rows.Scan(&seq, &vector); err != nil {
				return err
			}
			near.Add(seq, vector)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		all, err := turnsOf(ctx, q, near.IDs())
		found = record.Passages(near.IDs(), all, find.Limit)
		return err
	})
	if err == nil && len(near.Damaged) > 0 {
		err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
			_, err := q.Exec(ctx, `UPDATE memory_vectors SET model = 0, vector = '', claimed = 0 WHERE seq = ANY($1)`, near.Damaged)
			return err
		})
	}
	return found, wrap(err, "searching %q", find.Room)
}

// PieceVectors implements [storage.PieceVectors].
func (s *memories) PieceVectors(ctx context.Context, model string, keys []chat.PieceKey) (found map[chat.PieceKey][]byte, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		all, err := list(ctx, q, record.ScanPieceVector, `SELECT piece, vector FROM piece_vectors WHERE model = $1 AND piece IN (SELECT decode(k, 'hex') FROM unnest($2::text[]) k)`,
			record.HashOf(model), record.PieceKeys(keys))
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
