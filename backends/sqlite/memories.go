package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"parley/backends/record"
	"parley/core/chat"
)

// mostReused is the length of the lists of messages whose memory is used again.
const mostReused = 256

// selectRecent walks the index memories_by_turn backwards and stops at the limit. The limit is a sum, because SQLite's
// planner looks at the value of a bare parameter there, and then prepares the statement again for each call, which
// takes longer than running it.
const selectRecent = `
	SELECT ` + record.MemoryColumnsOfRoom + ` FROM memories
	WHERE room = ? AND kind = ? AND turn <= ?
	ORDER BY turn DESC, seq DESC LIMIT ? + 0`

// Recent implements [storage.Memories]. Its cost depends on the limit only, not on how much is stored.
func (s *memories) Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error) {
	if upTo == 0 || upTo > math.MaxInt64 {
		upTo = math.MaxInt64
	}
	var all []chat.Memory
	err := s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, selectRecent, room, kind, upTo, max(limit, 0))
		if err != nil {
			return err
		}
		// Messages are large, so they are read into memory that is used again, and copied once they are counted.
		read, _ := s.recent.Get().(*[]chat.Memory)
		if read == nil {
			read = new([]chat.Memory)
		}
		*read, err = collectInto((*read)[:0], rows, record.MemoryScanner())
		all = slices.Clone(*read)
		if cap(*read) <= mostReused {
			clear(*read)
			s.recent.Put(read)
		}
		return err
	})
	for i := range all {
		// These two are the same for all, so they are not read, see record.MemoryColumnsOfRoom.
		all[i].Room, all[i].Kind = room, kind
	}
	slices.Reverse(all)
	return all, wrap(err, "reading the messages in %q", room)
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

// insertMemory stores m unless there is a memory with its id, and returns how many were stored.
func insertMemory(ctx context.Context, tx *conn, m chat.Memory, turn chat.ResponseID, role string) (stored int, err error) {
	return tx.ExecContext(ctx, `
		INSERT INTO memories (`+record.MemoryColumns+`, turn, role) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		m.ID, m.Room, m.Kind, m.Author, m.Name, m.Text, m.InReplyTo, record.Nanos(m.At), record.List(m.History), m.Interrupted, m.Failure,
		record.ContentOf(m), turn, role)
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
func collect[T any](rows *rows, scan func(record.Row) (T, error)) ([]T, error) {
	return collectInto(nil, rows, scan)
}

// collectInto is collect with the memory of the result, or a part of it.
func collectInto[T any](all []T, rows *rows, scan func(record.Row) (T, error)) (_ []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return all[:0], err
		}
		if len(all) == cap(all) {
			all = slices.Grow(all, 3*len(all)+4) // messages are large: copying them at each doubling costs as much as reading them
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
