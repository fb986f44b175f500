// Package sqlite implements [storage.Store] in one SQLite file. It is the default store: it needs no server.
//
// A method returns after its transaction is on disk (WAL, synchronous=FULL), so stored data survives a crash of the
// process and also a power failure, as far as the disk honors sync requests. A sync costs far more than the statements
// of a typical transaction, so concurrent writes share one, see writes in batch.go.
//
// The file has one owner process at a time, see [Open] and lock.go. That is why this package needs none of the row
// locks, leases and clock corrections of the PostgreSQL store: one connection makes all writes, one after another, and
// the process's own clock is the only one. It belongs on a local disk: neither SQLite's locks nor the owner's are
// reliable over a network.
//
// Deleted rows also leave the file: pages are overwritten (secure_delete), and the write-ahead log is emptied by
// the next [Store.Expire] that finishes, see erase.go.
//
// The contract of each method is the comment of the port in [parley/core/storage] that its own comment names. The
// comments here explain how the contract is kept. Most methods are those of [parley/backends/sqlstore], which the
// PostgreSQL store shares, and so are the forms of values, such as times and JSON columns, of [parley/backends/record].
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"parley/backends/sqlstore"
	"parley/core/storage"
)

var _ storage.Store = (*Store)(nil)

// ErrClosed is the error of every method after [Store.Close].
var ErrClosed = errors.New("the store is closed")

// MissingError means that there is no store in a file.
type MissingError struct{ Path string }

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("there is no store at %s yet; start the gateway first", e.Path)
}

// Options tunes a store. The zero value is ready for production.
type Options struct {
	Existing    bool          // a missing file is a [MissingError], and not created
	Readers     int           // maximum number of concurrent read connections; default 4
	BusyTimeout time.Duration // the time that a statement waits for other programs that lock the file, such as a backup; default 5 s
	// Trace, if set, is called with each statement before it runs, BEGIN and COMMIT included, on the goroutine that
	// runs it. Tests use it to bound the number of statements.
	Trace func(statement string)
	// Audit, if set, is called if the cache holds something else than the file. Then everything is read although it is cached. Tests set it.
	Audit func(error)
	// Observe, if set, is called at the beginning of each access, a "read" or a "write", and done at its end.
	Observe func(kind string) (done func())
	// Unrecorded means that deletions are not recorded next to the file, for a copy that is being restored.
	Unrecorded bool
}

// Store is a [storage.Store] in a file. All methods are safe for concurrent use. Writes are sequential; reads run
// concurrently with them and see the state before the transaction that is being written.
type Store struct {
	*database
	*sqlstore.Store // the methods that both SQL stores share; those of the parts replace them
	journal
	memories
	directory
	questions
	usage
	upkeep
	personal
}

// The parts of a store: each type has the methods for one group of tables.
type (
	journal   struct{ *database } // leases
	memories  struct{ *database } // cached messages and notes, words and vectors
	directory struct{ *database } // cached rooms and entities
	questions struct{ *database } // cached questions
	usage     struct{ *database } // windows of rate limits
	upkeep    struct{ *database } // expired rows
	personal  struct{ *database } // all about one person
)

// database is the open file: the lock that makes this process its owner, and its connections.
type database struct {
	lock *lock
	// writer is one connection, which only the holder of the turn in writes uses. SQLite allows one writer at
	// a time anyway; with a second connection, transactions would fail as busy instead of waiting in order.
	writer  *conn
	writes  *writes
	readers *pool  // opened with query_only, so a read can't write by mistake
	id      string // see [Store.ID]
	cache   *cache
	audit   func(error)         // see [Options.Audit]
	observe func(string) func() // see [Options.Observe]

	common *sqlstore.Store  // the shared methods
	sql    *sqlstore.Shared // and the part of them that the methods of this package use

	// expiring guards expired and aged. Expire walks through the tables in steps; these remember where each walk
	// stopped. They start at the beginning in each process, which costs a walk but loses nothing.
	expiring sync.Mutex
	expired  []byte           // the last mark that Expire looked at; empty, never nil, at the start
	aged     map[string]int64 // by table: the last rowid that Expire looked at
	deleted  atomic.Bool      // the write-ahead log can still hold deleted text
	// tombstones records deletions outside of the file; guarded by the turn of writes
	tombstones tombstones

	mu     sync.RWMutex // guards closed. Each call holds it for reading until it ends, so Close waits for all of them
	closed bool
}

// Open opens the file at path, creates it if it is missing, and migrates its tables. It returns [*InUseError] while
// another Store uses the file, in this process or another, and fails for the tables of a newer program. Since the
// caller is the only owner, the holders of all earlier runs are dead, whatever the times of their leases: those runs
// can be started at once. The caller must call [Store.Close].
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if _, err := os.Stat(path); o.Existing && errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{path}
	}
	held, err := acquire(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if o.Observe == nil {
		o.Observe = func(string) func() { return func() {} }
	}
	db := &database{lock: held, cache: newCache(), audit: o.Audit, observe: o.Observe, expired: []byte{}, aged: map[string]int64{}}
	if !o.Unrecorded {
		db.tombstones = tombstones{path: path + tombstoneEnding, most: mostTombstones}
	}
	db.common, db.sql = sqlstore.New(shared{db}, dialect)
	db.deleted.Store(true) // the process before may have crashed between a deletion and the checkpoint that removes it from the log
	// Close also handles a database that was opened only in part.
	if err := db.open(ctx, path, o); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: opening %s: %w", path, err), db.Close())
	}
	return &Store{db, db.common, journal{db}, memories{db}, directory{db}, questions{db}, usage{db}, upkeep{db}, personal{db}}, nil
}

func (s *database) open(ctx context.Context, path string, o Options) error {
	if err := touch(path); err != nil {
		return err
	}
	writer, err := prepare(ctx, path, o)
	if err != nil {
		return err
	}
	s.writer = writer
	if writer.changes, err = watch(ctx, writer); err != nil {
		return err
	}
	s.writes = newWrites(writer, s.cache)
	readers := o.Readers
	if readers == 0 {
		readers = 4
	}
	s.readers = newPool(readers, func() (*conn, error) { return dial(path, o, "query_only = ON") })
	return s.write(ctx, func(ctx context.Context, tx *conn) error {
		if err := tx.QueryRowContext(ctx, `SELECT id FROM identity`).Scan(&s.id); err != nil {
			return err
		}
		return buryOwners(ctx, tx)
	})
}

// ID returns a random identifier that was made with the file. Caches and Redis keys that outlive a process include it:
// a file that takes the place of this one restarts the turn numbers of its rooms.
func (s *database) ID() string { return s.id }

// Close waits for the calls under way, closes the file and releases it for other processes. Later calls of other
// methods return [ErrClosed]; calling Close again does nothing.
func (s *database) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.Close())
	}
	if s.writes != nil {
		s.writes.Close()
	}
	if s.writer != nil { // the last connection to be closed moves the log into the file and removes it
		errs = append(errs, s.writer.Close())
	}
	// The lock goes last: until the connections are closed, another process must not open the file.
	return errors.Join(append(errs, s.lock.release())...)
}

// Ping reports an error if the file can't be read, or if the last write could not be committed, for example because the
// disk is full. It writes nothing itself: a probe every few seconds must not cost a sync each.
func (s *database) Ping(ctx context.Context) error {
	err := s.read(ctx, func(db *conn) error {
		if err := s.writes.trouble.get(); err != nil {
			return err
		}
		var version int
		return db.QueryRowContext(ctx, `SELECT max(version_id) FROM goose_db_version`).Scan(&version)
	})
	return wrap(err, "reading the store")
}

// read calls do with a read connection, concurrently with the writer. Each statement of do sees the last committed
// state at its own beginning; two statements can see different states, because read opens no transaction. ctx bounds
// the wait for a connection, not the queries: each is short, and to watch a context takes a goroutine for each. The one query
// that can take long, the search for words, uses [conn.interruptible].
func (s *database) read(ctx context.Context, do func(*conn) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	defer s.observe("read")()
	return s.readers.do(ctx, do)
}

// write calls do as if in a transaction of its own, which is committed when write returns without an error. If do
// returns an error, its changes are rolled back and write returns that error. do can be called more than once, so it
// must assign its results, not add to them. See writes.run for the effect of a canceled ctx.
func (s *database) write(ctx context.Context, do func(context.Context, *conn) error) error {
	return s.commit(ctx, &job{do: do})
}

// commit runs j as write does.
func (s *database) commit(ctx context.Context, j *job) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	defer s.observe("write")()
	return s.writes.run(ctx, j)
}

// writeSlowly is write for jobs that take some milliseconds and that no answer waits for, see writes.rest.
func (s *database) writeSlowly(ctx context.Context, do func(context.Context, *conn) error) error {
	if err := s.writes.rest(ctx); err != nil {
		return err
	}
	return s.commit(ctx, &job{do: do, background: true})
}

// wrap adds the attempted operation to err, and returns nil for nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlite: "+format+": %w", append(args, err)...)
}
