// Package backends opens stores by their addresses, and moves rows from SQLite to PostgreSQL. The packages below it
// implement the stores (sqlite, postgres) and the state that replicas share (inmem, redis).
package backends

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/backends/postgres"
	"parley/backends/sqlite"
	"parley/core/storage"
	"parley/progressive"
)

// Store is all that a gateway keeps in one place. Both SQL stores implement it. Its methods are safe for concurrent
// use.
type Store interface {
	storage.Store
	progressive.Holds
	progressive.Windows
	// Keep stores value under name, in place of an earlier one. Kept returns it, or "".
	Keep(ctx context.Context, name, value string) error
	Kept(ctx context.Context, name string) (value string, err error)
	// Swap stores value under name if old is the value there, where "" is none. It reports whether it was.
	Swap(ctx context.Context, name, old, value string) (bool, error)
	// ID tells the store from every other, also from one that takes its place.
	ID() string
	// Ping reports an error if the store can't be read or written.
	Ping(ctx context.Context) error
	Close() error
}

// Options describe the use of a store. A file has one opener in any case.
type Options struct {
	Several bool // by several gateways, which share their state in memory
	Guest   bool // for a moment, next to a running gateway if the store allows it; a missing file is not created
	Create  bool // with Guest, a missing file is created
	// Observe, if set, is called at the beginning of each access, a "read" or a "write", and done at its end.
	Observe func(kind string) (done func())
}

// Open opens the store at address: sqlite: and a path, or the URL of a PostgreSQL database. It fails for other
// addresses, if another process uses the file, and if the tables are of a newer program.
func Open(ctx context.Context, address string, o Options) (Store, error) {
	if isPostgres(address) {
		return orNil(postgres.Open(ctx, address, postgres.Options{Several: o.Several, Guest: o.Guest, Observe: o.Observe}))
	}
	if path := Path(address); path != "" {
		return orNil(sqlite.Open(ctx, path, sqlite.Options{Existing: o.Guest && !o.Create, Observe: o.Observe}))
	}
	return nil, errors.New("the store is not supported; use sqlite:PATH or postgres://HOST/DATABASE")
}

// orNil returns a nil interface with an error, instead of an interface that holds a nil pointer and is not nil.
func orNil[S Store](s S, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// Path returns the path of a store in a file; "" for others.
func Path(address string) string {
	path, ok := strings.CutPrefix(address, "sqlite:")
	if !ok {
		return ""
	}
	return path
}

// Checked is a store that was tested.
type Checked struct {
	Text  string // a description for the owner
	ID    string // see Store; "" for a database without tables
	InUse bool   // by a running gateway, so that its ID can't be read
}

// Check tests the store at address. It changes nothing in a database; a missing file is created, which shows that it can
// be. A store that a running gateway has open counts as tested. The error is that of [Open].
func Check(ctx context.Context, address string) (Checked, error) {
	if isPostgres(address) {
		text, id, err := postgres.Describe(ctx, address)
		return Checked{Text: text, ID: id}, err
	}
	store, err := Open(ctx, address, Options{})
	if holder, used := InUse(err); used {
		return Checked{Text: fmt.Sprintf("%s is in use by a running gateway (%s)", Path(address), holder), InUse: true}, nil
	} else if err != nil {
		return Checked{}, err
	}
	if err := store.Close(); err != nil {
		return Checked{}, fmt.Errorf("close %s: %w", Path(address), err)
	}
	return Checked{Text: Path(address) + " is writable", ID: store.ID()}, nil
}

// Unavailable reports whether an error of a store can resolve without a change of the configuration, with a reason for
// the owner.
func Unavailable(err error) (reason string, ok bool) {
	if reason, ok = sqlite.Unavailable(err); ok {
		return reason, true
	}
	return postgres.Unavailable(err)
}

// InUse reports whether a store could not be opened because a running gateway has it, and returns which one.
func InUse(err error) (holder string, ok bool) {
	if used := (*sqlite.InUseError)(nil); errors.As(err, &used) {
		return used.Holder, true
	}
	if used := (*postgres.InUseError)(nil); errors.As(err, &used) {
		return used.Holder, true
	}
	return "", false
}

// Restored is the result of a restore, see [sqlite.Restored].
type Restored = sqlite.Restored

// RestoreOptions configure a restore, see [sqlite.RestoreOptions].
type RestoreOptions = sqlite.RestoreOptions

// Copied describes a backup, see [sqlite.Copied].
type Copied = sqlite.Copied

// RestoredNote is the note of a store that waits for its owner's confirmation, see [sqlite.RestoredNote].
const RestoredNote = sqlite.RestoredNote

// ErrIncomplete means that a backup is too old to repeat all deletions, see [sqlite.ErrIncomplete].
var ErrIncomplete = sqlite.ErrIncomplete

// Backup writes a copy of the store at address to a new file, see [sqlite.Backup]. It fails for PostgreSQL, which has its
// own tools for that.
func Backup(ctx context.Context, address, file string) (Copied, error) {
	path := Path(address)
	if path == "" {
		return Copied{}, errors.New("only a store in a file is backed up by this command; for PostgreSQL use pg_dump, such as pg_dump --format=custom --file=FILE DATABASE")
	}
	return sqlite.Backup(ctx, path, file)
}

// Restore replaces the store at address by a backup, see [sqlite.Restore]. It fails for PostgreSQL, which has its own
// tools for that.
func Restore(ctx context.Context, address, file string, o RestoreOptions) (Restored, error) {
	path := Path(address)
	if path == "" {
		return Restored{}, errors.New("only a store in a file is restored by this command; for PostgreSQL stop all gateways and use pg_restore, such as pg_restore --clean --dbname=DATABASE FILE")
	}
	return sqlite.Restore(ctx, file, path, o)
}

// Missing reports whether a store could not be opened because no gateway has created its file.
func Missing(err error) bool {
	missing := (*sqlite.MissingError)(nil)
	return errors.As(err, &missing)
}

// Wait is the time limit for opening a store, including migrations.
const Wait = 30 * time.Second
