// Package sqlstore has the methods of [parley/core/storage.Store] that are the same in both SQL stores. Each is written once, over
// the interface [Database], which [parley/backends/sqlite] and [parley/backends/postgres] implement. A backend adds the methods that
// need its own means, such as an index of words, and replaces those that it can do better, such as reads that it caches.
//
// How one statement serves both:
//
//   - Parameters are $1, $2 and so on.
//   - Only common SQL is used: coalesce and CASE, TRUE and FALSE, CAST(… AS bigint) where PostgreSQL can't infer the type of a
//     parameter, and ON CONFLICT.
//   - The few differences that remain are fragments of the [Dialect].
//   - A limit of a table with many rows is an expression (LIMIT CAST($1 AS bigint)). SQLite's planner looks at the value of a bare
//     parameter there, and then prepares the statement again for each call, which takes longer than running it.
//
// The contract of each method is the comment of the port in [parley/core/storage] that its own comment names.
package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
)

// Rows are the rows that a statement returns, one after the other. They must be closed.
type Rows interface {
	record.Row
	Next() bool
	Err() error // why there are no more rows, unless that was the last one
	Close()
}

// Conn runs statements, in a transaction or outside of one. A missing row is [database/sql.ErrNoRows], perhaps wrapped.
type Conn interface {
	// Exec returns the number of changed rows.
	Exec(ctx context.Context, query string, args ...any) (changed int, err error)
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) record.Row
}

// Database is the part of a store that differs between the backends.
type Database interface {
	// Read calls do outside of a transaction: each statement sees the commits before its beginning. do can be called several times,
	// so it must assign its results, not add to them.
	Read(ctx context.Context, do func(context.Context, Conn) error) error
	// Write calls do in a transaction, and returns after the commit. do can be called several times. If it returns an error, its
	// changes are rolled back and Write returns that error.
	Write(ctx context.Context, c Change, do func(context.Context, Conn) error) error

	// Now returns the time of this process, and Present the same moment by the clock of the database, in nanoseconds. Times that
	// replicas compare with the present are stored by the latter: Stored and Local convert them.
	Now() time.Time
	Present() int64
	Stored(t time.Time) int64
	Local(t time.Time) time.Time

	// Remembering calls insert, which stores m as a memory of turn with these stored forms of its history and content. Readdressing
	// calls update, which changes only the address and the turns of a room. A backend that caches rows takes the change over.
	Remembering(tx Conn, m chat.Memory, turn chat.ResponseID, history, content string, insert func() error) error
	Readdressing(tx Conn, room chat.RoomID, address string, update func() error) error
	// ReplaceWords indexes a revised message again, if it was indexed, and invalidates its vector.
	ReplaceWords(ctx context.Context, tx Conn, m chat.Memory) error
	// Erasing is called in a transaction that deletes text on request, although its Change does not say so.
	Erasing()
	// Bury records, where the backend does that, a deletion that a restored backup has to repeat. It is called in the transaction of
	// the deletion, at its end.
	Bury(ctx context.Context, tx Conn, t Tombstone) error
}

// Dialect has the fragments of SQL that differ.
type Dialect struct {
	Name  string // of the backend, for errors
	Locks bool   // the locks of a Change are used

	Least      string // the function of the least of its arguments
	Greatest   string
	Seq        string // the column of runs and questions that numbers them as they were stored
	ForUpdate  string // locks the selected rows
	SkipLocked string // and leaves out those that another transaction has locked
	Inputs     string // an aggregate: the JSON list of m.id in the order of m.seq
	ShownID    string // a condition: the JSON list r.shown has a message with the id $4
	FirstChat  string // the first text of the JSON list chats
	SameName   string // a condition: the name of the room is $1, in any case of letters
}

// Lock names what a transaction has for itself among all replicas: the rows of a room, for example. Waiting for locks needs no order:
// the backend sorts them.
type Lock struct{ Class, ID string }

// Change describes a transaction before it begins.
type Change struct {
	On         []Lock
	Deletes    bool // text is deleted on request, so it must leave the files of the store soon
	Background bool // no answer waits for it
}

// Tombstone is the record of a deletion, without the deleted values.
type Tombstone struct {
	Seq    int64     `json:"seq"`
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	ID     string    `json:"id"`
	Person string    `json:"person,omitempty"`
}

// The kinds of tombstones.
const (
	MessageDeleted = "message"
	RoomCleared    = "room"
	ChatCleared    = "chat" // a room, and the rest that is known about its person
	PersonDeleted  = "person"
	AccessRevoked  = "access"
)

// Shared is used by all parts of a [Store], and by the methods that a backend adds. It is safe for concurrent use.
type Shared struct {
	Database
	Dialect

	// Statements that are made of a fragment, or for a number of buckets.
	selectRuns, selectRun, selectOpenRuns string
	adds, spends                          [9]string // by the number: an answer of a person in a room is charged to five

	spentOn atomic.Value // the day of the last charge, a string
	pruned  atomic.Int64 // when expired windows were last deleted, by the clock of the process
}

// Store has the methods that both backends share, in the parts of their stores. All methods are safe for concurrent use.
type Store struct {
	journal
	memories
	directory
	people
	reminders
	uploads
	questions
	usage
	upkeep
	personal
	overview
}

// The parts of a store: each type has the methods for one group of tables.
type (
	journal   struct{ *Shared } // runs, and marks of accepted events
	memories  struct{ *Shared } // messages, notes and files
	directory struct{ *Shared } // worlds, rooms, and who is in them
	people    struct{ *Shared } // approved users, and requests of others
	reminders struct{ *Shared } // reminders of users
	uploads   struct{ *Shared } // files of users
	questions struct{ *Shared } // questions to users, their choices, and approvals
	usage     struct{ *Shared } // spending, and windows of rate limits
	upkeep    struct{ *Shared } // values of other packages, and times until which platforms refuse requests
	personal  struct{ *Shared } // all about one person
	overview  struct{ *Shared } // lists of all rooms
)

// New returns the shared methods of a store in db, and what its own methods need of them.
func New(db Database, d Dialect) (*Store, *Shared) {
	s := &Shared{Database: db, Dialect: d, selectRuns: fmt.Sprintf(selectRuns, d.Inputs)}
	s.selectRun = s.selectRuns + `WHERE r.id = $2`
	s.selectOpenRuns = s.selectRuns + `WHERE r.room = $2 AND r.status = '' ORDER BY r.turn`
	for n := range s.adds {
		s.adds[n], s.spends[n] = d.addingTo(n), d.spendingOf(n)
	}
	return &Store{journal{s}, memories{s}, directory{s}, people{s}, reminders{s}, uploads{s}, questions{s}, usage{s}, upkeep{s}, personal{s}, overview{s}}, s
}

// change returns a transaction that has the locks of ids.
func change[T ~string](s *Shared, class string, ids ...T) Change {
	if !s.Locks {
		return Change{}
	}
	var on []Lock
	for _, id := range ids {
		on = append(on, Lock{class, string(id)})
	}
	return Change{On: on}
}

// room returns a transaction that has the lock of a room.
func (s *Shared) room(id chat.RoomID) Change { return change(s, "room", id) }

// run is room for the room of a run, which its id names (see [record.RunID]), so that the lock can be taken before the run is read.
func (s *Shared) run(id chat.RunID) Change {
	return s.room(chat.RoomID(id[:max(strings.LastIndexByte(string(id), '#'), 0)]))
}

// deleting returns c for a transaction that deletes text on request.
func (c Change) deleting() Change {
	c.Deletes = true
	return c
}

// wrap adds the attempted operation to err, and returns nil for nil.
func (s *Shared) wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(s.Name+": "+format+": %w", append(args, err)...)
}

// burying is Write for deletions that a restored backup has to repeat. t is recorded if do returns no error.
func (s *Shared) burying(ctx context.Context, c Change, t Tombstone, do func(context.Context, Conn) error) error {
	return s.Write(ctx, c.deleting(), func(ctx context.Context, tx Conn) error {
		if err := do(ctx, tx); err != nil {
			return err
		}
		return s.Bury(ctx, tx, t)
	})
}

// Collect reads all rows and closes them. It takes the results of [Conn.Query].
func Collect[T any](rows Rows, err error, scan func(record.Row) (T, error)) (all []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
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

// one reads a row outside of a transaction.
func one[T any](ctx context.Context, s *Shared, scan func(record.Row) (T, error), query string, args ...any) (v T, err error) {
	err = s.Read(ctx, func(ctx context.Context, c Conn) error {
		v, err = scan(c.QueryRow(ctx, query, args...))
		return err
	})
	return v, err
}

// list reads all rows of a query outside of a transaction.
func list[T any](ctx context.Context, s *Shared, scan func(record.Row) (T, error), query string, args ...any) (all []T, err error) {
	err = s.Read(ctx, func(ctx context.Context, c Conn) error {
		rows, err := c.Query(ctx, query, args...)
		all, err = Collect(rows, err, scan)
		return err
	})
	return all, err
}

// scan reads a row of one column.
func scan[T any](r record.Row) (v T, err error) { return v, record.Found(r.Scan(&v)) }

// some returns [answer.ErrLost] if a statement has changed nothing. It takes the results of [Conn.Exec].
func some(changed int, err error) error {
	if err == nil && changed == 0 {
		return answer.ErrLost
	}
	return err
}
