package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"parley/core"
)

const memoryColumns = `id, room, author, name, text, in_reply_to, at, history, interrupted, failure`

const selectRecent = `
	SELECT ` + memoryColumns + ` FROM memories
	WHERE room = ? AND turn <= ?
	ORDER BY turn DESC, seq DESC LIMIT ?`

// Recent implements [core.Memories]. Its cost is that of the limit, however much is stored.
func (s *Store) Recent(ctx context.Context, room core.RoomID, upTo core.ResponseID, limit int) ([]core.Memory, error) {
	if upTo == 0 || upTo > math.MaxInt64 {
		upTo = math.MaxInt64
	}
	var all []core.Memory
	err := s.read(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, selectRecent, room, upTo, max(limit, 0))
		if err != nil {
			return err
		}
		all, err = collect(rows, scanMemory)
		return err
	})
	slices.Reverse(all)
	return all, wrap(err, "reading what was said in %q", room)
}

// Memory implements [core.Memories].
func (s *Store) Memory(ctx context.Context, id core.MemoryID) (m core.Memory, err error) {
	err = s.read(func(db *sql.DB) error {
		m, err = scanMemory(db.QueryRowContext(ctx, `SELECT `+memoryColumns+` FROM memories WHERE id = ?`, id))
		return err
	})
	return m, wrap(err, "reading the memory %q", id)
}

// The roles of a memory in its turn.
const (
	input = "input" // the turn's run answers it
	heard = "heard" // it is only remembered
	said  = "said"  // it is the answer
)

// remember stores m. Only an answer replaces an earlier memory: the platform's echo of itself, which was faster.
func remember(ctx context.Context, tx *sql.Tx, m core.Memory, turn core.ResponseID, role string) error {
	_, err := tx.ExecContext(ctx, `
		REPLACE INTO memories (`+memoryColumns+`, turn, role) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, m.Room, m.Author, m.Name, m.Text, m.InReplyTo, nanos(m.At), list(m.History), m.Interrupted, m.Failure,
		turn, role)
	return err
}

// row is what *sql.Row and *sql.Rows have in common.
type row interface{ Scan(into ...any) error }

func scanMemory(r row) (m core.Memory, err error) {
	err = r.Scan(&m.ID, &m.Room, &m.Author, &m.Name, &m.Text, &m.InReplyTo, timeColumn{&m.At}, jsonColumn{&m.History},
		&m.Interrupted, &m.Failure)
	return m, found(err)
}

// found turns the driver's word for "nothing there" into ours.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return core.ErrNotFound
	}
	return err
}

func collect[T any](rows *sql.Rows, scan func(row) (T, error)) (all []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
