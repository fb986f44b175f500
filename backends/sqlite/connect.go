package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/pressly/goose/v3"
	"modernc.org/libc"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
	native "zombiezen.com/go/sqlite"

	"parley/backends/record"
)

// resolve returns the absolute path without symbolic links, so that all names of a file have the same lock. It also
// reports mistakes that SQLite would only describe as "unable to open database file": a directory, or a missing one.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return "", fmt.Errorf("%s is a directory, not a file", path)
	case err == nil:
		return filepath.EvalSymlinks(path)
	}
	// The file does not exist yet, so only its directory can be resolved.
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the directory %s does not exist: %w", filepath.Dir(path), err)
	}
	return filepath.Join(dir, filepath.Base(path)), err
}

// touch creates the file readable by its owner only, where SQLite would use the umask: the file holds private
// conversations. It fails if the file isn't writable, where SQLite would open it read-only and the first write would
// fail later.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// connect returns the connection for migrations, in the form that goose needs. Everything else uses [dial].
func connect(path string, o Options) (*sql.DB, error) {
	// The parameters are applied to each new connection, see https://pkg.go.dev/modernc.org/sqlite#Driver.Open.
	params := []string{
		fmt.Sprintf("_busy_timeout=%d", o.busyTimeout().Milliseconds()),
		"_journal_mode=WAL",                     // readers don't wait for the writer; the file remembers it
		"_dqs=0", "_defensive=1", "_error_rc=1", // as in dial; error texts describe the failed call
		// An immediate transaction takes SQLite's write lock when it begins. A deferred one takes it at its first write,
		// where it would fail as busy if another program wrote in between.
		"_txlock=immediate",
	}
	for _, pragma := range settings() {
		name, value, _ := strings.Cut(pragma, " = ")
		params = append(params, fmt.Sprintf("_pragma=%s(%s)", name, value))
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") { // C:/...
		slashed = "/" + slashed
	}
	file := url.URL{Scheme: "file", Path: slashed, RawQuery: strings.Join(params, "&")}
	connector, err := driver.NewConnector(file.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// dial opens a connection to the file at path, which exists. Strings in double quotes are names, so a misspelled column is an
// error. The connection is defensive, and other files can't be attached to it.
func dial(path string, o Options, pragmas ...string) (*conn, error) {
	if err := defend(); err != nil {
		return nil, err
	}
	db, err := native.OpenConn(path, native.OpenReadWrite)
	if err != nil {
		return nil, bare(err)
	}
	c := &conn{db: db, known: map[string]*statement{}}
	db.SetBusyTimeout(o.busyTimeout())
	db.Limit(native.LimitAttached, 0)
	for _, pragma := range append(settings(), pragmas...) {
		if err == nil {
			_, err = c.ExecContext(context.Background(), "PRAGMA "+pragma)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.trace = o.Trace
	return c, nil
}

// settings are the pragmas of each connection.
func settings() []string {
	return []string{
		"synchronous = FULL", // a commit is synced
		"foreign_keys = ON",
		"trusted_schema = OFF", // the schema can use no function with side effects
		"secure_delete = ON",   // deleted rows are overwritten with zeros
		"fullfsync = ON",       // without it, macOS doesn't write through the cache of the disk; other systems ignore it
	}
}

func (o Options) busyTimeout() time.Duration {
	if o.BusyTimeout == 0 {
		return 5 * time.Second
	}
	return o.BusyTimeout
}

//go:embed migrations/*.sql
var migrations embed.FS

// prepare returns the connection that makes all writes, after it has made or upgraded the tables.
func prepare(ctx context.Context, path string, o Options) (*conn, error) {
	// Readers don't wait for the writer. The file remembers this, but not its copy that VACUUM INTO makes.
	const wal = "journal_mode = WAL"
	first := []string{wal}
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		first = []string{incremental, wal}
	}
	writer, err := dial(path, o, first...)
	if err != nil {
		return nil, err
	}
	err = create(ctx, writer)
	if err == nil {
		var ready bool
		if ready, err = current(ctx, writer); ready {
			return writer, nil
		}
	}
	// The connection after the migration is a new one, so that none has parsed statements for tables that have changed since.
	if err = errors.Join(err, writer.Close()); err == nil {
		err = migrate(ctx, path, o)
	}
	if err != nil {
		return nil, err
	}
	return dial(path, o, wal)
}

// migrate upgrades the tables to this program's version. Each migration is a transaction with its version number, so a
// crash leaves a state that the next start continues from. It refuses the tables of a newer program: unlike with
// PostgreSQL, no two versions run at the same time, so there is no reason to support that.
func migrate(ctx context.Context, path string, o Options) error {
	db, err := connect(path, o)
	if err != nil {
		return err
	}
	return errors.Join(upgrade(ctx, db), db.Close())
}

func upgrade(ctx context.Context, db *sql.DB) error {
	p, err := steps(db)
	if err != nil {
		return err
	}
	has, knows, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the version of the tables: %w", err)
	}
	if has > knows {
		return newer(ctx, db.QueryRowContext(ctx, oldestRelease), has, knows)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating from version %d to %d: %w", has, knows, err)
	}
	return nil
}

// oldestRelease reads the oldest release that can use the tables.
const oldestRelease = `SELECT release FROM identity`

// newer is the error for tables of a newer program; row is the result of oldestRelease. Tables without it have no release.
func newer(ctx context.Context, row record.Row, has, knows int64) error {
	var release string
	if err := row.Scan(&release); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return record.NewerTables(release, has, knows)
}

// steps returns the provider of migrations for db.
func steps(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("reading the migrations: %w", err)
	}
	return p, nil
}

// defend makes all connections defensive that this process opens from then on: SQLite refuses statements on them that write to the
// schema or to the internal tables of an index, whatever error in the store or in SQLite lets them come about. A connection of
// zombiezen.com/go/sqlite can't be made defensive after it was opened: SetDefensive of version 1.4.2 passes one value too few, so
// that SQLite writes to wherever the memory after it points. Therefore SQLite itself does it, in a function that it calls for each
// connection it opens.
var defend = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	opened := beDefensive
	// This is how a function of Go becomes one of C, see https://pkg.go.dev/modernc.org/libc.
	code := lib.Xsqlite3_auto_extension(tls, *(*uintptr)(unsafe.Pointer(&opened)))
	if code != lib.SQLITE_OK {
		return fmt.Errorf("making connections defensive: SQLite returns code %d", code)
	}
	return nil
})

// beDefensive is called by SQLite with a new connection. Opening it fails with the code that is returned.
func beDefensive(tls *libc.TLS, db, _, _ uintptr) int32 {
	values := libc.NewVaList(int32(1), uintptr(0)) // on; the state need not be reported
	if values == 0 {
		return lib.SQLITE_NOMEM
	}
	defer libc.Xfree(tls, values)
	return lib.Xsqlite3_db_config(tls, db, lib.SQLITE_DBCONFIG_DEFENSIVE, values)
}
