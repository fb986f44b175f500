package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"parley/core/answer"
	"parley/core/chat"
)

const memoryColumns = `id, room, kind, author, name, text, in_reply_to, at, history, interrupted, failure, content`

const selectRecent = `
	SELECT ` + memoryColumns + ` FROM memories
	WHERE room = ? AND kind = ? AND turn <= ?
	ORDER BY turn DESC, seq DESC LIMIT ?`

// Recent implements [core.Memories]. Its cost is that of the limit, however much is stored.
func (s *memories) Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error) {
	if upTo == 0 || upTo > math.MaxInt64 {
		upTo = math.MaxInt64
	}
	var all []chat.Memory
	err := s.read(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, selectRecent, room, kind, upTo, max(limit, 0))
		if err != nil {
			return err
		}
		all, err = collect(rows, scanMemory)
		return err
	})
	slices.Reverse(all)
	return all, wrap(err, "reading the messages in %q", room)
}

// Memory implements [core.Memories].
func (s *memories) Memory(ctx context.Context, id chat.MemoryID) (m chat.Memory, err error) {
	err = s.read(func(db *sql.DB) error {
		m, err = scanMemory(db.QueryRowContext(ctx, `SELECT `+memoryColumns+` FROM memories WHERE id = ?`, id))
		return err
	})
	return m, wrap(err, "reading the memory %q", id)
}

// The roles of a memory in its turn.
const (
	input  = "input"  // the turn's run answers it
	heard  = "heard"  // it is only remembered
	said   = "said"   // it is the answer
	beside = "beside" // it came about beside the answer
)

// remember stores m, whose id must be new: nothing takes the place of a message. Only an answer replaces what was heard under its
// id, the platform's echo of itself, which was faster.
func remember(ctx context.Context, tx *sql.Tx, m chat.Memory, turn chat.ResponseID, role string) error {
	if role == said {
		if _, err := tx.ExecContext(ctx, `DELETE FROM memories WHERE id = ? AND role = ?`, m.ID, heard); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO memories (`+memoryColumns+`, turn, role) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, m.Room, m.Kind, m.Author, m.Name, m.Text, m.InReplyTo, nanos(m.At), list(m.History), m.Interrupted, m.Failure,
		contentOf(m), turn, role)
	return err
}

// row is what *sql.Row and *sql.Rows have in common.
type row interface{ Scan(into ...any) error }

func scanMemory(r row) (m chat.Memory, err error) {
	var c content
	err = r.Scan(&m.ID, &m.Room, &m.Kind, &m.Author, &m.Name, &m.Text, &m.InReplyTo, timeColumn{&m.At}, jsonColumn{&m.History},
		&m.Interrupted, &m.Failure, jsonColumn{&c})
	m.Quoted, m.Files, m.Thought, m.Actions, m.Providers, m.Calls = c.Quoted, c.Files, c.Thought, c.Actions, c.Providers, c.Calls
	return m, found(err)
}

// content is what of a memory is only read with it.
type content struct {
	Quoted    chat.Quoted       `json:"quoted,omitzero"`
	Files     []chat.Attachment `json:"files,omitempty"`
	Thought   string            `json:"thought,omitempty"`
	Actions   []string          `json:"actions,omitempty"`
	Providers []string          `json:"providers,omitempty"`
	Calls     []answer.PastCall `json:"calls,omitempty"`
}

func contentOf(m chat.Memory) string {
	if m.Quoted == (chat.Quoted{}) && len(m.Files)+len(m.Thought)+len(m.Actions)+len(m.Providers)+len(m.Calls) == 0 {
		return ""
	}
	return toJSON(content{m.Quoted, m.Files, m.Thought, m.Actions, m.Providers, m.Calls})
}

// Remember implements [core.Memories].
func (s *memories) Remember(ctx context.Context, run chat.RunID, m chat.Memory) error {
	err := checkMemory(m)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error { return rememberBeside(ctx, tx, run, m) })
	}
	return wrap(err, "saving the memory %q", m.ID)
}

func rememberBeside(ctx context.Context, tx *sql.Tx, run chat.RunID, m chat.Memory) error {
	var turn chat.ResponseID
	err := tx.QueryRowContext(ctx, `
		SELECT turn FROM runs WHERE id = ?1 AND room = ?2
			AND EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn AND m.role = 'input')`,
		run, m.Room).Scan(&turn)
	if err != nil {
		return found(err)
	}
	var known bool
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM memories WHERE id = ?)`, m.ID).Scan(&known)
	if err != nil || known {
		return err
	}
	return remember(ctx, tx, m, turn, beside)
}

// found turns the driver's word for "nothing there" into ours.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return chat.ErrNotFound
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
