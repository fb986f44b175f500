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
	"time"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"
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

// connect returns a pool for the file. Nothing is opened yet. param is the setting in which readers and the writer
// differ.
func connect(path string, o Options, param string) (*sql.DB, error) {
	wait := o.BusyTimeout
	if wait == 0 {
		wait = 5 * time.Second
	}
	// The parameters are applied to each new connection, see https://pkg.go.dev/modernc.org/sqlite#Driver.Open.
	params := []string{
		fmt.Sprintf("_busy_timeout=%d", wait.Milliseconds()),
		"_journal_mode=WAL", "_synchronous=FULL", "_foreign_keys=1", // WAL: readers don't wait for the writer; FULL: a commit is synced
		"_pragma=secure_delete(1)", // what is deleted is overwritten with zeros
		"_pragma=fullfsync(1)",     // without it, macOS doesn't write through the cache of the disk; other systems ignore it
		// A misspelled column in double quotes is an error, not a string; statements can't corrupt the file by writing
		// to internal tables; error texts describe the failed call.
		"_dqs=0", "_defensive=1", "_error_rc=1",
		param,
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
	return sql.OpenDB(preparing{connector, o.Trace}), nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// migrate upgrades the tables to this program's version. Each migration is a transaction with its version number, so a
// crash leaves a state from which the next start continues. It refuses the tables of a newer program: unlike with
// PostgreSQL, no two versions run at the same time, so there is no reason to support that.
func migrate(ctx context.Context, db *sql.DB) error {
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, steps, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	has, knows, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the version of the tables: %w", err)
	}
	if has > knows {
		return fmt.Errorf("its schema has version %d, but this program supports up to version %d: a newer version of the gateway wrote "+
			"it; run that version, or restore an older backup", has, knows)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating from version %d to %d: %w", has, knows, err)
	}
	return nil
}
