// Package postgres implements [storage.Store] in a PostgreSQL database, version 14 or later. Any number of gateways can
// use one database at the same time, if they share the state over Redis that they otherwise keep in memory; see
// [Options.Several].
//
// A method returns after its transaction is committed, with synchronous_commit on: stored data survives a crash of the
// process and of the server. Data that a standby has not received when it takes over is lost, unless replication is
// synchronous.
//
// How replicas stay out of each other's way:
//
//   - A transaction first takes the advisory locks of its subjects, usually one room (turns.go). So all writes to a room have
//     one order on all replicas, and the isolation level read committed is enough: every statement of the transaction sees all
//     earlier commits.
//   - Leases end by the clock of the database (clock.go), so the clocks of the processes need not agree.
//   - A claim (claim.go) keeps a gateway that uses the database alone from sharing it.
//   - A transaction whose connection breaks is repeated if it surely was not committed; if the connection breaks during the commit,
//     its outcome is looked up (tx.go). So callers normally don't notice that a server restarts or is replaced.
//
// The contract of each method is the comment of the port in [parley/core/storage] that its own comment names. The
// comments here explain the implementation, and the differences to the SQLite store, which has the same tables. Most
// methods are those of [parley/backends/sqlstore], and forms of values those of [parley/backends/record]: both are shared.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"parley/backends/sqlstore"
	"parley/core/storage"
)

var _ storage.Store = (*Store)(nil)

// ErrClosed is the error of every method after [Store.Close].
var ErrClosed = errors.New("the store is closed")

// Options describe a gateway's use of the database. The zero value is a gateway that uses it alone.
type Options struct {
	// Several allows other stores with this option to use the database at the same time. Without it the store is the
	// only one, or [Open] returns [*InUseError]; the holders of all earlier runs are then dead, and those runs can be
	// started at once.
	Several bool
	// Guest opens the database next to stores of any kind and claims nothing. It is for commands that look or change
	// something for a moment.
	Guest bool
	// Connections is the maximum number of pooled connections; default 10, or pool_max_conns of the address. The claim
	// uses one more.
	Connections int
	// Observe, if set, is called at the beginning of each access, a "read" or a "write", and done at its end.
	Observe func(kind string) (done func())

	now func() time.Time // tests: the clock of the process; nil for time.Now
	own bool             // tests: that clock is also the one of the database
}

// Store is a [storage.Store] in a PostgreSQL database. All methods are safe for concurrent use, in any number of
// processes.
type Store struct {
	*database
	*sqlstore.Store // the methods that both SQL stores share; those of the parts replace them
	journal
	memories
	usage
	upkeep
	leases
}

// The parts of a store: each type has the methods for one group of tables.
type (
	journal  struct{ *database } // leases of processes
	memories struct{ *database } // messages, words and vectors
	usage    struct{ *database } // windows of rate limits
	upkeep   struct{ *database } // expired rows
)

// database is the pool of connections, and this process's state of the database.
type database struct {
	pool    *pgxpool.Pool
	id      string              // see ID
	clock   clock               // follows the clock of the database
	turns   turns               // where the calls of this process wait for each other
	along   along               // saved by every commit too, see budgets.go
	trouble trouble             // the last error of the database, for Ping
	claim   *claim              // nil for a guest
	observe func(string) func() // see [Options.Observe]

	common *sqlstore.Store  // the shared methods
	sql    *sqlstore.Shared // and the part of them that the methods of this package use

	// expiring guards aged, which remembers where Expire stopped. It is not shared with other replicas: each walks on
	// its own.
	expiring sync.Mutex
	aged     map[string]string // by table: the last row that Expire looked at

	mu     sync.RWMutex // guards closed. Each call holds it for reading until it ends, so Close waits for all of them
	closed bool
}

// Open connects to the database at url, migrates its tables, and claims it. It returns [*InUseError] if another gateway
// has claimed it in a way that excludes this one. [Unavailable] tells errors that can pass from those that can't. The
// caller must call [Store.Close].
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if o.Observe == nil {
		o.Observe = func(string) func() { return func() {} }
	}
	db := &database{aged: map[string]string{}, turns: newTurns(), clock: clock{now: o.now, own: o.own}, observe: o.Observe}
	db.common, db.sql = sqlstore.New(shared{db}, dialect)
	if o.now == nil {
		db.clock.now = time.Now
	}
	if err := db.open(ctx, url, o); err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: opening the database: %w", explain(err)), db.Close())
	}
	return &Store{db, db.common, journal{db}, memories{db}, usage{db}, upkeep{db}, leases{db}}, nil
}

// open does the work of Open. The clock is measured before the claim, as the owners of earlier runs are judged by it;
// guests claim and bury nothing, because the gateway next to them may be running.
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

// ID returns a random identifier that was made with the tables. Redis keys include it: a database that takes the place
// of this one restarts the turn numbers of its rooms.
func (s *database) ID() string { return s.id }

// Close waits for the calls under way, closes the connections, and releases the claim. Later calls of other methods
// return [ErrClosed]; calling Close again does nothing.
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
	if err := s.trouble.get(); err != nil { // at once, as a probe doesn't wait for a timeout
		return wrap(err, "reading the store")
	}
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		// A standby answers queries too. Reading a table also notices tables that are gone.
		var readOnly bool
		err := q.QueryRow(ctx, `SELECT current_setting('transaction_read_only')::boolean FROM identity`).Scan(&readOnly)
		if err == nil && readOnly {
			err = errReadOnly
		}
		return err
	})
	return wrap(err, "reading the store")
}

// wrap adds the attempted operation to err, and returns nil for nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("postgres: "+format+": %w", append(args, err)...)
}
