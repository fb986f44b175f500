package postgres

import (
	"context"
	"math"
	"slices"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/llm"
)

// selectRecent walks the index memories_by_turn backwards and stops at the limit.
const selectRecent = `
	SELECT ` + record.MemoryColumns + ` FROM memories
	WHERE room = $1 AND kind = $2 AND turn <= $3
	ORDER BY turn DESC, seq DESC LIMIT $4`

// Recent implements [storage.Memories]. Its cost depends on the limit only, not on the number of stored messages.
func (s *memories) Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error) {
	if upTo == 0 || upTo > math.MaxInt64 {
		upTo = math.MaxInt64
	}
	var all []chat.Memory
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, selectRecent, room, kind, upTo, max(limit, 0))
		all, err = collect(rows, err, record.MemoryScanner())
		return err
	})
	slices.Reverse(all)
	return all, wrap(err, "reading the messages in %q", room)
}

// Memory implements [storage.Memories].
func (s *memories) Memory(ctx context.Context, id chat.MemoryID) (m chat.Memory, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		m, err = record.ScanMemory(q.QueryRow(ctx, `SELECT `+record.MemoryColumns+` FROM memories WHERE id = $1`, id))
		return err
	})
	return m, wrap(err, "reading the memory %q", id)
}

// remember stores m, whose id must be new: a message never replaces another. There is one exception: some platforms
// deliver the agent's own messages too, and this echo can be stored as heard before the answer itself is. The answer
// then replaces its echo.
func remember(ctx context.Context, q querier, m chat.Memory, turn chat.ResponseID, role string) error {
	if role == record.Said {
		if _, err := q.Exec(ctx, `DELETE FROM memories WHERE id = $1 AND role = $2`, m.ID, record.Heard); err != nil {
			return err
		}
	}
	_, err := q.Exec(ctx, `
		INSERT INTO memories (`+record.MemoryColumns+`, turn, role) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		m.ID, m.Room, m.Kind, m.Author, m.Name, m.Text, m.InReplyTo, record.Nanos(m.At), record.List(m.History), m.Interrupted, m.Failure,
		record.ContentOf(m), turn, role)
	return err
}

// Remember implements [storage.Memories].
func (s *memories) Remember(ctx context.Context, run chat.RunID, m chat.Memory) error {
	err := record.CheckMemory(m)
	if err == nil {
		err = s.write(ctx, roomScope(m.Room), func(ctx context.Context, q querier) error { return rememberBeside(ctx, q, run, m) })
	}
	return wrap(err, "saving the memory %q", m.ID)
}

// rememberBeside stores m with the turn of run. Without inputs the run was forgotten, and storing m would bring a part
// of it back.
func rememberBeside(ctx context.Context, q querier, run chat.RunID, m chat.Memory) error {
	var turn chat.ResponseID
	err := q.QueryRow(ctx, `
		SELECT turn FROM runs WHERE id = $1 AND room = $2
			AND EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn AND m.role = 'input')`,
		run, m.Room).Scan(&turn)
	if err != nil {
		return record.Found(err)
	}
	var known bool
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM memories WHERE id = $1)`, m.ID).Scan(&known)
	if err != nil || known {
		return err
	}
	return remember(ctx, q, m, turn, record.Beside)
}

// File implements [storage.Files].
func (s *memories) File(ctx context.Context, run chat.RunID, n int) (b llm.File, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT name, type, data FROM files WHERE run = $1 AND n = $2`, run, n).Scan(&b.Name, &b.Type, &b.Data))
	})
	return b, wrap(err, "reading file %d of %q", n, run)
}

// FilePart implements [storage.Files]. substr reads only the pages that it needs, because the column is stored
// uncompressed (see the migration). Its positions are 32-bit, so larger ones are limited to the largest, past the end
// of any file.
func (s *memories) FilePart(ctx context.Context, run chat.RunID, n int, from, length int64) (p chat.FilePart, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT name, type, length(data), CASE WHEN $1::int > 0 THEN substr(data, $2::int, $1::int) END
			FROM files WHERE run = $3 AND n = $4`, min(length, math.MaxInt32), min(from+1, math.MaxInt32), run, n).
			Scan(&p.Name, &p.Type, &p.Size, &p.Data))
	})
	return p, wrap(err, "reading a part of file %d of %q", n, run)
}

// keepFiles replaces the files of a run. Verdicts refer to files by number, so the numbers begin at 0 again.
func keepFiles(ctx context.Context, q querier, run chat.RunID, all []llm.File) error {
	if _, err := q.Exec(ctx, `DELETE FROM files WHERE run = $1`, run); err != nil {
		return err
	}
	for n, b := range all {
		if b.Data == nil {
			// The driver stores a nil slice as NULL, which the column doesn't take.
			b.Data = []byte{}
		}
		if _, err := q.Exec(ctx, `INSERT INTO files (run, n, name, type, data) VALUES ($1, $2, $3, $4, $5)`, run, n, b.Name, b.Type, b.Data); err != nil {
			return err
		}
	}
	return nil
}
