package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/llm"
)

// selectRecent walks the index memories_by_turn backwards and stops at the limit. The limit is a sum, because SQLite's
// planner looks at the value of a bare parameter there, and then prepares the statement again for each call, which
// takes longer than running it.
const selectRecent = `
	SELECT ` + record.MemoryColumnsOfRoom + `, turn FROM memories
	WHERE room = ? AND kind = ? AND turn <= ?
	ORDER BY turn DESC, seq DESC LIMIT ? + 0`

// Recent implements [storage.Memories]. Its cost depends on the limit only, not on the number of stored messages. The cache holds the
// newest messages, which is what nearly all calls want: a read for it has no upper bound, and another one is made only if later turns have
// left too few.
func (s *memories) Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error) {
	if upTo == 0 || upTo > math.MaxInt64 {
		upTo = math.MaxInt64
	}
	limit = max(limit, 0)
	if limit <= mostKept {
		enough := func(h history) bool {
			_, ok := h.last(upTo, limit)
			return ok
		}
		newest, err := cached(ctx, s.database, subject{cachedMemories, string(room), string(kind)}, enough, func(ctx context.Context, db *conn) (history, error) {
			return readHistory(ctx, db, room, kind, math.MaxInt64, limit)
		})
		if err != nil {
			return nil, wrap(err, "reading the messages in %q", room)
		}
		if all, ok := newest.last(upTo, limit); ok {
			return all, nil
		}
	}
	var h history
	err := s.read(ctx, func(db *conn) (err error) {
		h, err = readHistory(ctx, db, room, kind, upTo, limit)
		return err
	})
	return h.all, wrap(err, "reading the messages in %q", room)
}

// readHistory reads the last memories whose turn is at most upTo.
func readHistory(ctx context.Context, db *conn, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) (history, error) {
	rows, err := db.QueryContext(ctx, selectRecent, room, kind, upTo, limit)
	if err != nil {
		return history{}, err
	}
	var turn chat.ResponseID
	var turns []chat.ResponseID
	scan := record.MemoryScanner(&turn)
	all, err := collect(rows, func(r record.Row) (chat.Memory, error) {
		m, err := scan(r)
		m.Room, m.Kind = room, kind // the same for all, so they are not read, see record.MemoryColumnsOfRoom
		turns = append(turns, turn)
		return m, err
	})
	if err != nil {
		return history{}, err
	}
	slices.Reverse(all)
	slices.Reverse(turns)
	return newHistory(all, turns, len(all) < limit), nil
}

// Memory implements [storage.Memories].
func (s *memories) Memory(ctx context.Context, id chat.MemoryID) (m chat.Memory, err error) {
	err = s.read(ctx, func(db *conn) error {
		m, err = record.ScanMemory(db.QueryRowContext(ctx, `SELECT `+record.MemoryColumns+` FROM memories WHERE id = ?`, id))
		return err
	})
	return m, wrap(err, "reading the memory %q", id)
}

// remember stores m, whose id must be new: a message never replaces another. There is one exception: some platforms
// deliver the agent's own messages too, and this echo can be stored as heard before the answer itself is. The answer
// then replaces its echo.
func remember(ctx context.Context, tx *conn, m chat.Memory, turn chat.ResponseID, role string) error {
	stored, err := insertMemory(ctx, tx, m, turn, role)
	if err != nil || stored > 0 {
		return err
	}
	if role == record.Said {
		if _, err = tx.ExecContext(ctx, `DELETE FROM memories WHERE id = ? AND role = ?`, m.ID, record.Heard); err != nil {
			return err
		}
		stored, err = insertMemory(ctx, tx, m, turn, role)
	}
	if err == nil && stored == 0 {
		err = fmt.Errorf("there is a memory %q already", m.ID)
	}
	return err
}

// insertMemory stores m unless there is a memory with its id, and returns the number of stored ones.
func insertMemory(ctx context.Context, tx *conn, m chat.Memory, turn chat.ResponseID, role string) (stored int, err error) {
	said, content := record.List(m.History), record.ContentOf(m)
	longer := func(before value) value {
		m, err := record.ReadBack(m, said, content)
		if err != nil {
			return nil
		}
		return before.(history).with(m, turn)
	}
	err = tx.changes.expecting(change{subject{cachedMemories, string(m.Room), string(m.Kind)}, longer}, func() (err error) {
		stored, err = tx.ExecContext(ctx, `
			INSERT INTO memories (`+record.MemoryColumns+`, turn, role) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			m.ID, m.Room, m.Kind, m.Author, m.Name, m.Text, m.InReplyTo, record.Nanos(m.At), said, m.Interrupted, m.Failure, content, turn, role)
		return err
	})
	return stored, err
}

// Remember implements [storage.Memories].
func (s *memories) Remember(ctx context.Context, run chat.RunID, m chat.Memory) error {
	err := record.CheckMemory(m)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error { return rememberBeside(ctx, tx, run, m) })
	}
	return wrap(err, "saving the memory %q", m.ID)
}

// rememberBeside stores m with the turn of run. Without inputs the run was forgotten, and storing m would bring a part
// of it back.
func rememberBeside(ctx context.Context, tx *conn, run chat.RunID, m chat.Memory) error {
	var turn chat.ResponseID
	err := tx.QueryRowContext(ctx, `
		SELECT turn FROM runs WHERE id = ?1 AND room = ?2
			AND EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn AND m.role = 'input')`,
		run, m.Room).Scan(&turn)
	if err != nil {
		return record.Found(err)
	}
	var known bool
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM memories WHERE id = ?)`, m.ID).Scan(&known)
	if err != nil || known {
		return err
	}
	return remember(ctx, tx, m, turn, record.Beside)
}

// collect reads all rows and closes them. Errors of scan, of reading and of closing are returned.
func collect[T any](rows *rows, scan func(record.Row) (T, error)) (all []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		if len(all) == cap(all) {
			all = slices.Grow(all, 3*len(all)+4) // messages are large: copying them at each doubling costs as much as reading them
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// File implements [storage.Files].
func (s *memories) File(ctx context.Context, run chat.RunID, n int) (b llm.File, err error) {
	err = s.read(ctx, func(db *conn) error {
		return record.Found(db.QueryRowContext(ctx, `SELECT name, type, data FROM files WHERE run = ? AND n = ?`, run, n).Scan(&b.Name, &b.Type, &b.Data))
	})
	return b, wrap(err, "reading file %d of %q", n, run)
}

// FilePart implements [storage.Files].
func (s *memories) FilePart(ctx context.Context, run chat.RunID, n int, from, length int64) (p chat.FilePart, err error) {
	err = s.read(ctx, func(db *conn) error {
		return record.Found(db.QueryRowContext(ctx, `SELECT name, type, length(data), CASE WHEN ?1 > 0 THEN substr(data, ?2, ?1) END
			FROM files WHERE run = ?3 AND n = ?4`, length, from+1, run, n).
			Scan(&p.Name, &p.Type, &p.Size, &p.Data))
	})
	return p, wrap(err, "reading a part of file %d of %q", n, run)
}

// keepFiles replaces the files of a run. Verdicts refer to files by number, so the numbers begin at 0 again.
func keepFiles(ctx context.Context, tx *conn, run chat.RunID, all []llm.File) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM files WHERE run = ?`, run); err != nil {
		return err
	}
	for n, b := range all {
		if _, err := tx.ExecContext(ctx, `INSERT INTO files (run, n, name, type, data) VALUES (?, ?, ?, ?, ?)`, run, n, b.Name, b.Type, b.Data); err != nil {
			return err
		}
	}
	return nil
}
