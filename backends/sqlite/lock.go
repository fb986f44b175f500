package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// InUseError is the error that [Open] returns for a file that another Store uses.
type InUseError struct {
	Path   string // the resolved path of the database
	Holder string // the process that uses it, for the owner to read: process, host, and start time
}

// Error implements error.
func (e *InUseError) Error() string {
	return fmt.Sprintf("%s is in use by %s; only one gateway can use it at a time", e.Path, e.Holder)
}

// lock is the exclusive ownership of a database: a lock of the operating system on a file next to the database. The
// system releases it when the process ends, however it ends, so no stale lock can remain after a crash. The text in the
// file is only for error messages. SQLite's own locks would not do: they are held during transactions, not between
// them.
type lock struct{ file *os.File }

// acquire takes the lock of the database at path, or returns [*InUseError]. It does not wait.
func acquire(path string) (*lock, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the lock of %s: %w; check who owns its folder, or set store to a file elsewhere", path, err)
	}
	free, err := tryLock(f)
	switch {
	case err != nil:
		err = fmt.Errorf("locking %s: %w", path, err)
	case !free:
		err = &InUseError{Path: path, Holder: holder(f)}
	default:
		err = sign(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &lock{f}, nil
}

// sign writes the process, the host and the time into the lock file, for the error message of the next process.
func sign(f *os.File) error {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	return err
}

// release releases the lock and keeps the file. If it were removed, a process that had opened it before would lock a
// file without a name, while a third creates and locks a new one: both would own the database.
func (l *lock) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// holder returns the text in the lock file. It can be empty for a moment, between taking the lock and signing it.
func holder(f io.ReaderAt) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<10))
	if who := strings.TrimSpace(string(text)); err == nil && who != "" {
		return who
	}
	return "another process"
}
