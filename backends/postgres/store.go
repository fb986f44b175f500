// Package postgres stores all data in a PostgreSQL database, version 14 or later.
//
// A method returns after its transaction is committed, with synchronous_commit on: stored data survives a crash of the process and
// of the server. What a server that takes over has not received yet is lost, unless replication is synchronous.
//
// Any number of stores can use one database at the same time, if they share what is kept in memory; see [Options.Several]. The
// clock of the database decides about leases and times, so the clocks of the processes need not agree.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"parley/core/storage"
)

var _ storage.Store = (*Store)(nil)

// ErrClosed is what every method answers after [Store.Close].
var ErrClosed = errors.New("the store is closed")

// Options are all optional.
type Options struct {
	// Several allows other stores with this option to use the database at the same time. Without it there is one, or [Open] fails
	// with [*InUseError], and the holders of all earlier runs are dead: those runs can be started at once.
	Several bool
	// Guest opens the database beside stores of any kind, for a moment: it claims nothing.
	Guest bool
	// Connections is the maximum number of connections; default 10, or pool_max_conns of the address. One more shows that the
	// database is in use.
	Connections int

	now func() time.Time // tests: the clock of the process
	own bool             // tests: and of the database
}

// Store is a [storage.Store] in a PostgreSQL database.
type Store struct {
	*database
	journal
	memories
	directory
	people
	reminders
	uploads
	questions
	usage
	upkeep
	leases
}

// The parts of a store: each is what one group of tables is for.
type (
	journal   struct{ *database } // runs, and marks of what was accepted
	memories  struct{ *database } // what was said, notes and files
	directory struct{ *database } // worlds, rooms, and who is in them
	reminders struct{ *database } // what people asked to be reminded of
	uploads   struct{ *database } // files of people
	people    struct{ *database } // who is approved, and who asks for it
	questions struct{ *database } // what people were asked, and what they chose
	usage     struct{ *database } // what was spent
	upkeep    struct{ *database } // what expires, and what other packages keep
)

// database is the pool of connections.
type database struct {
	pool    *pgxpool.Pool
	id      string
	clock   clock
	turns   turns
	along   along
	trouble trouble
	claim   *claim // nil for a guest

	expiring sync.Mutex
	aged     map[string]string // the row of each table that Expire looked at last

	mu     sync.RWMutex // held for reading by each call, so that Close waits for them
	closed bool
}

// Open connects to the database at url, migrates its tables, and claims it. See [Unavailable] for errors that can pass.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	db := &database{aged: map[string]string{}, turns: newTurns(), clock: clock{now: o.now, own: o.own}}
	if o.now == nil {
		db.clock.now = time.Now
	}
	if err := db.open(ctx, url, o); err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: opening the database: %w", explain(err)), db.Close())
	}
	return &Store{db, journal{db}, memories{db}, directory{db}, people{db}, reminders{db}, uploads{db}, questions{db}, usage{db}, upkeep{db}, leases{db}}, nil
}

func (s *database) open(ctx context.Context, url string, o Options) (err error) {
	if s.pool, err = connect(ctx, url, o); err != nil {
		return err
	}
	if err := migrate(ctx, s.pool); err != nil {
		return err
	}
	if s.id, err = identify(ctx, s.pool); err != nil {
		return err
	}
	if err := s.clock.measure(ctx, s.pool); err != nil || o.Guest {
		return err
	}
	s.claim = &claim{config: s.pool.Config().ConnConfig, id: s.id, several: o.Several}
	if err := s.claim.take(ctx, takeWait); err != nil {
		return err
	}
	return s.write(ctx, nil, func(ctx context.Context, q querier) error { return buryOwners(ctx, q, s.clock.nanos(), o.Several) })
}

// ID tells this database from every other, also from one that takes its place.
func (s *database) ID() string { return s.id }

// Close waits for the calls under way, and ends the connections. It may be called again.
func (s *database) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.pool != nil {
		s.pool.Close()
	}
	if s.claim != nil {
		s.claim.release()
	}
	return nil
}

// Ping reports an error if the database can't be read or written, or if the last write was not stored.
func (s *database) Ping(ctx context.Context) error {
	if err := s.trouble.get(); err != nil { // at once: a probe doesn't wait long
		return wrap(err, "reading the store")
	}
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		var readOnly bool
		err := q.QueryRow(ctx, `SELECT current_setting('transaction_read_only')::boolean FROM identity`).Scan(&readOnly)
		if err == nil && readOnly {
			err = errReadOnly
		}
		return err
	})
	return wrap(err, "reading the store")
}

// wrap adds the attempted operation to err.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("postgres: "+format+": %w", append(args, err)...)
}
