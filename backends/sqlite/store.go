// Package sqlite stores all data in one SQLite file.
//
// A method returns after its transaction is on disk (WAL, synchronous=FULL), so stored data survives a crash of the
// process and also a power failure, as far as the disk honors sync requests.
//
// The file has one owner process, see [Open]. It belongs on a local disk: neither SQLite's locks nor the owner's are
// reliable over a network.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"parley/core/storage"
)

var _ storage.Store = (*Store)(nil)

// ErrClosed is what every method answers after [Store.Close].
var ErrClosed = errors.New("the store is closed")

// Options are all optional.
type Options struct {
	Readers     int           // maximum number of concurrent readers; default 4
	BusyTimeout time.Duration // how long to wait for other users of the file, such as a backup; default 5 s
	// Trace is told each statement before it runs, BEGIN and COMMIT included. Tests count them.
	Trace func(statement string)
}

// Store is a [storage.Store] in a file. Writes are sequential; reads run concurrently with them.
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

// database is the file, and the connections to it.
type database struct {
	lock    *lock
	writer  *sql.DB // one connection
	writes  *writes
	readers *sql.DB
	id      string

	expiring sync.Mutex
	expired  []byte           // the mark that Expire looked at last
	aged     map[string]int64 // the row of each table that Expire looked at last
	deleted  atomic.Bool      // the log may hold what was deleted
	pruned   time.Time        // when saveWindows deleted expired ones; under the turn of writes

	mu     sync.RWMutex // held for reading by each call, so that Close waits for them
	closed bool
}

// Open opens the file at path, creates it if it is missing, and migrates its tables. It fails with [*InUseError] while
// another Store has the file open, in this process or another. The opener is the only owner, so the holders of all
// earlier runs are dead: those runs can be started at once.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	held, err := acquire(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db := &database{lock: held, expired: []byte{}, aged: map[string]int64{}}
	db.deleted.Store(true) // the process before may have left it so
	if err := db.open(ctx, path, o); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: opening %s: %w", path, err), db.Close())
	}
	return &Store{db, journal{db}, memories{db}, directory{db}, people{db}, reminders{db}, uploads{db}, questions{db}, usage{db}, upkeep{db}}, nil
}

func (s *database) open(ctx context.Context, path string, o Options) error {
	if err := touch(path); err != nil {
		return err
	}
	var err error
	if s.writer, err = connect(path, o, "_txlock=immediate"); err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	s.writes = newWrites(s.writer)
	if err := migrate(ctx, s.writer); err != nil {
		return err
	}
	if s.readers, err = connect(path, o, "_query_only=1"); err != nil {
		return err
	}
	readers := o.Readers
	if readers == 0 {
		readers = 4
	}
	s.readers.SetMaxOpenConns(readers)
	s.readers.SetMaxIdleConns(readers)
	return s.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
		if err := tx.QueryRowContext(ctx, `SELECT id FROM identity`).Scan(&s.id); err != nil {
			return err
		}
		return buryOwners(ctx, tx)
	})
}

// ID tells this file from every other, also from one that takes its place.
func (s *database) ID() string { return s.id }

// Close waits for the calls under way and lets the file go. It may be called again.
func (s *database) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for _, db := range []*sql.DB{s.readers, s.writer} { // the last to go empties the WAL
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, s.lock.release())...)
}

// Ping reports an error if the file can't be read, or if the last write was not stored.
func (s *database) Ping(ctx context.Context) error {
	err := s.read(ctx, func(db reader) error {
		if err := s.writes.trouble.get(); err != nil {
			return err
		}
		var version int
		return db.QueryRowContext(ctx, `SELECT max(version_id) FROM goose_db_version`).Scan(&version)
	})
	return wrap(err, "reading the store")
}

// read runs do beside the writer, on a connection of its own.
func (s *database) read(ctx context.Context, do func(reader) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it only goes back to the pool
	return do(reader{conn})
}

// reader is a connection whose queries are not interrupted: each is short, and to watch a context takes two goroutines a query.
type reader struct{ conn *sql.Conn }

// QueryContext is that of [sql.Conn].
func (r reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.conn.QueryContext(uninterrupted(ctx), query, args...)
}

// QueryRowContext is that of [sql.Conn].
func (r reader) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return r.conn.QueryRowContext(uninterrupted(ctx), query, args...)
}

// uninterrupted returns ctx as it is if it is done already.
func uninterrupted(ctx context.Context) context.Context {
	if ctx.Err() != nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// write runs do as if in a transaction of its own, see [writes].
func (s *database) write(ctx context.Context, do func(context.Context, *sql.Conn) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	return s.writes.run(ctx, do)
}

// wrap adds the attempted operation to err.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlite: "+format+": %w", append(args, err)...)
}
