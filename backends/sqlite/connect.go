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

// resolve gives every name of a file the same lock, and finds out early what SQLite would put less clearly.
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
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the directory %s does not exist: %w", filepath.Dir(path), err)
	}
	return filepath.Join(dir, filepath.Base(path)), err
}

// touch creates the file readable by its owner only, and fails if the file isn't writable: SQLite would open it
// read-only.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func connect(path string, o Options, param string) (*sql.DB, error) {
	wait := o.BusyTimeout
	if wait == 0 {
		wait = 5 * time.Second
	}
	params := []string{
		fmt.Sprintf("_busy_timeout=%d", wait.Milliseconds()),
		"_journal_mode=WAL", "_synchronous=FULL", "_foreign_keys=1",
		"_pragma=secure_delete(1)", // what is deleted is overwritten
		"_pragma=fullfsync(1)",     // macOS keeps nothing over a power cut without it; others ignore it
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

// migrate brings the tables to this program's version, and refuses those of a newer one.
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
