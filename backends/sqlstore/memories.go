package sqlstore

import (
	"context"
	"errors"
	"math"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/llm"
)

// Memory implements [storage.Memories].
func (s *memories) Memory(ctx context.Context, id chat.MemoryID) (m chat.Memory, err error) {
	m, err = one(ctx, s.Shared, record.ScanMemory, `SELECT `+record.MemoryColumns+` FROM memories WHERE id = $1`, id)
	return m, s.wrap(err, "reading the memory %q", id)
}

// ErrTaken means that there is a memory with the id of a new one. Another replica has perhaps stored it in the meantime, and
// repeating the transaction finds it.
var ErrTaken = errors.New("there is a memory with this id already")

// remember stores m, whose id must be new: a message never replaces another. There is one exception: some platforms
// deliver the agent's own messages too, and this echo can be stored as heard before the answer itself is. The answer
// then replaces its echo.
func (s *Shared) remember(ctx context.Context, tx Conn, m chat.Memory, turn chat.ResponseID, role string) error {
	err := s.insertMemory(ctx, tx, m, turn, role)
	if errors.Is(err, ErrTaken) && role == record.Said {
		if _, err = tx.Exec(ctx, `DELETE FROM memories WHERE id = $1 AND role = $2`, m.ID, record.Heard); err == nil {
			err = s.insertMemory(ctx, tx, m, turn, role)
		}
	}
	return err
}

// insertMemory stores m, or returns [ErrTaken].
func (s *Shared) insertMemory(ctx context.Context, tx Conn, m chat.Memory, turn chat.ResponseID, role string) error {
	history, content := record.List(m.History), record.ContentOf(m)
	return s.Remembering(tx, m, turn, history, content, func() error {
		n, err := tx.Exec(ctx, `
			INSERT INTO memories (`+record.MemoryColumns+`, turn, role) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			ON CONFLICT (id) DO NOTHING`,
			m.ID, m.Room, m.Kind, m.Author, m.Name, m.Text, m.InReplyTo, record.Nanos(m.At), history, m.Interrupted, m.Failure, content, turn, role)
		if err == nil && n == 0 {
			err = ErrTaken
		}
		return err
	})
}

// Remember implements [storage.Memories].
func (s *memories) Remember(ctx context.Context, run chat.RunID, m chat.Memory) error {
	err := record.CheckMemory(m)
	if err == nil {
		err = s.Write(ctx, s.room(m.Room), func(ctx context.Context, tx Conn) error { return s.rememberBeside(ctx, tx, run, m) })
	}
	return s.wrap(err, "saving the memory %q", m.ID)
}

// rememberBeside stores m with the turn of run. Without inputs the run was forgotten, and storing m would bring a part
// of it back.
func (s *memories) rememberBeside(ctx context.Context, tx Conn, run chat.RunID, m chat.Memory) error {
	turn, err := scan[chat.ResponseID](tx.QueryRow(ctx, `
		SELECT turn FROM runs WHERE id = $1 AND room = $2
			AND EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn AND m.role = 'input')`, run, m.Room))
	if err != nil {
		return err
	}
	known, err := scan[bool](tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM memories WHERE id = $1)`, m.ID))
	if err != nil || known {
		return err
	}
	return s.remember(ctx, tx, m, turn, record.Beside)
}

// File implements [storage.Files].
func (s *memories) File(ctx context.Context, run chat.RunID, n int) (b llm.File, err error) {
	b, err = one(ctx, s.Shared, func(r record.Row) (b llm.File, err error) {
		err = record.Found(r.Scan(&b.Name, &b.Type, &b.Data))
		return b, err
	}, `SELECT name, type, data FROM files WHERE run = $1 AND n = $2`, run, n)
	return b, s.wrap(err, "reading file %d of %q", n, run)
}

// FilePart implements [storage.Files]. In PostgreSQL, substr reads only the pages that it needs, because the column is stored
// uncompressed (see the migration). Its positions are 32-bit, so larger ones are limited to the largest, past the end
// of any file.
func (s *memories) FilePart(ctx context.Context, run chat.RunID, n int, from, length int64) (p chat.FilePart, err error) {
	p, err = one(ctx, s.Shared, func(r record.Row) (p chat.FilePart, err error) {
		err = record.Found(r.Scan(&p.Name, &p.Type, &p.Size, &p.Data))
		return p, err
	}, `SELECT name, type, length(data), CASE WHEN CAST($1 AS int) > 0 THEN substr(data, CAST($2 AS int), CAST($1 AS int)) END
		FROM files WHERE run = $3 AND n = $4`, min(length, math.MaxInt32), min(from+1, math.MaxInt32), run, n)
	return p, s.wrap(err, "reading a part of file %d of %q", n, run)
}

// keepFiles replaces the files of a run. Verdicts refer to files by number, so the numbers begin at 0 again.
func keepFiles(ctx context.Context, tx Conn, run chat.RunID, all []llm.File) error {
	if _, err := tx.Exec(ctx, `DELETE FROM files WHERE run = $1`, run); err != nil {
		return err
	}
	for n, b := range all {
		if b.Data == nil {
			// The driver stores a nil slice as NULL, which the column doesn't take.
			b.Data = []byte{}
		}
		if _, err := tx.Exec(ctx, `INSERT INTO files (run, n, name, type, data) VALUES ($1, $2, $3, $4, $5)`, run, n, b.Name, b.Type, b.Data); err != nil {
			return err
		}
	}
	return nil
}
