package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	native "zombiezen.com/go/sqlite"
)

// Copied describes a copy of a store.
type Copied struct {
	Messages int   // that it contains
	Size     int64 // bytes
}

// Backup writes a copy of the store at from to a new file at to. It shows one moment, also while a gateway writes to the
// store: SQLite lets other processes read at any time, so the lock of the gateway is not needed. The copy is checked, and
// only then gets its name. It never replaces a file: then it fails.
func Backup(ctx context.Context, from, to string) (Copied, error) {
	from, err := existing(from)
	if err != nil {
		return Copied{}, err
	}
	if to, err = unused(from, to); err != nil {
		return Copied{}, err
	}
	const next = "restore an earlier backup"
	if err := recognize(ctx, from); err != nil {
		return Copied{}, afterDamage(err, next)
	}
	temp, err := tempFor(to)
	if err != nil {
		return Copied{}, err
	}
	c, err := copyChecked(ctx, from, temp)
	if err == nil {
		err = rename(os.Link, temp, to)
	}
	if err != nil {
		return Copied{}, afterDamage(errors.Join(writing(from, to, err), os.Remove(temp)), next)
	}
	return c, syncDir(filepath.Dir(to))
}

// existing returns the resolved path of a store.
func existing(path string) (string, error) {
	path, err := resolve(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no file %s; check the path", path)
	}
	return path, err
}

// belonging are the endings of files that belong to a store. A copy with such a name would be taken for one of them.
var belonging = []string{"-wal", "-shm", "-journal", ".lock", ".local", tombstoneEnding}

// unused returns the resolved path of a file that can be made for a backup of the store at from.
func unused(from, to string) (string, error) {
	to, err := filepath.Abs(to)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(to); err == nil {
		return "", fmt.Errorf("%s exists already; name a new file", to)
	}
	to, err = resolve(to)
	if err == nil && slices.Contains(belonging, strings.TrimPrefix(to, from)) {
		return "", fmt.Errorf("%s would be taken for a part of the store; choose another name", to)
	}
	return to, err
}

// tempFor makes an empty file for a copy that is to become path. SQLite writes only to new and to empty files.
func tempFor(path string) (string, error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".partial-*")
	if err != nil {
		if p := (*fs.PathError)(nil); errors.As(err, &p) {
			err = p.Err // without the name, which no user chose
		}
		return "", fmt.Errorf("the folder %s can't be written: %w; check its owner, or use another folder", dir, err)
	}
	return f.Name(), f.Close()
}

// rename gives the file at from the new name to, which must be free. A link fails if it was taken meanwhile. File systems without links,
// such as those of memory sticks, only allow to look first.
func rename(link func(from, to string) error, from, to string) error {
	err := link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if _, found := os.Lstat(to); !errors.Is(found, fs.ErrNotExist) {
		return errors.Join(err, found)
	}
	return os.Rename(from, to)
}

// copyChecked copies the store at from to the empty file at to, syncs and checks it.
func copyChecked(ctx context.Context, from, to string) (Copied, error) {
	err := onceIn(ctx, from, func(c *conn) error {
		c.db.Limit(native.LimitAttached, 1) // the copy
		var mode int
		err := c.QueryRowContext(ctx, `PRAGMA auto_vacuum`).Scan(&mode)
		if err == nil && mode != incrementalMode { // otherwise the pragma would write to the store
			_, err = c.ExecContext(ctx, `PRAGMA `+incremental)
		}
		if err == nil {
			_, err = c.ExecContext(ctx, `VACUUM INTO ?`, to)
		}
		return err
	})
	if err == nil {
		err = syncFile(to)
	}
	if err != nil {
		return Copied{}, err
	}
	return verify(ctx, to)
}

// onceIn runs do with a connection to an existing file, and closes it. ctx interrupts it. The connection can write, because SQLite
// reads a file with a write-ahead log only where it can write next to it.
func onceIn(ctx context.Context, path string, do func(*conn) error) error {
	c, err := dial(path, Options{})
	if err != nil {
		return err
	}
	err = c.interruptible(ctx, func() error { return do(c) })
	return errors.Join(err, c.Close())
}

// recognize checks that the file at path is a store that this program can use.
func recognize(ctx context.Context, path string) error {
	err := onceIn(ctx, path, func(db *conn) error {
		if tables, err := count(ctx, db, `SELECT count(*) FROM sqlite_schema WHERE name IN ('goose_db_version', 'identity')`); err != nil || tables != 2 {
			return errors.Join(errNoStore, err)
		}
		known, err := versions()
		if err != nil {
			return err
		}
		has, err := count(ctx, db, `SELECT max(version_id) FROM goose_db_version`)
		if err == nil && has > slices.Max(known) {
			err = newer(ctx, db.QueryRowContext(ctx, oldestRelease), int64(has), int64(slices.Max(known)))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// verify reads all of the store at path.
func verify(ctx context.Context, path string) (c Copied, err error) {
	err = onceIn(ctx, path, func(db *conn) error {
		var found string
		if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&found); err != nil {
			return err
		} else if found != "ok" {
			return fmt.Errorf("%w: %s", errDamaged, found)
		}
		c.Messages, err = count(ctx, db, `SELECT count(*) FROM memories`)
		return err
	})
	if info, statErr := os.Stat(path); err == nil {
		if err = statErr; err == nil {
			c.Size = info.Size()
		}
	}
	return c, err
}

// Errors of files that can't be copied.
var (
	errNoStore = errors.New("the file is not a store of Parley")
	errDamaged = errors.New("the file is damaged")
)

// unusable reports whether err tells that a file is no complete store.
func unusable(err error) bool {
	code := native.ErrCode(err).ToPrimary()
	return errors.Is(err, errNoStore) || errors.Is(err, errDamaged) || code == native.ResultNotADB || code == native.ResultCorrupt
}

// afterDamage adds the next step to an error of a file that is no complete store.
func afterDamage(err error, next string) error {
	if unusable(err) {
		return fmt.Errorf("%w; %s", err, next)
	}
	return err
}

// writing explains why a copy of from can't be written.
func writing(from, path string, err error) error {
	if unusable(err) {
		return fmt.Errorf("reading %s: %w", from, err)
	}
	if reason, ok := Unavailable(err); ok {
		return fmt.Errorf("writing %s: %s; free some space, or use another disk: %w", path, reason, err)
	}
	return fmt.Errorf("writing %s: %w", path, err)
}

// syncFile writes the system's buffers of a file to its disk.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncDir writes the names in a directory to the disk. Systems that can't do that need it less: the error is ignored.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}
