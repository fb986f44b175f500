package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// InUseError means that another Store has the file open.
type InUseError struct {
	Path   string
	Holder string // its process, host, and start time
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s is in use by %s; only one gateway can use it at a time", e.Path, e.Holder)
}

// lock is the ownership of a database. The operating system holds it and ends it with the process; the text in its
// file is for people.
type lock struct{ file *os.File }

func acquire(path string) (*lock, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the lock of %s: %w", path, err)
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

// sign writes down who has the lock.
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

// release keeps the file: a process that waits for the lock by name must find the locked file.
func (l *lock) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

func holder(f io.ReaderAt) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<10))
	if who := strings.TrimSpace(string(text)); err == nil && who != "" {
		return who
	}
	return "another process"
}

// Holder returns a description of the process that has the database at path open, without opening it; "" if there is
// none.
func Holder(path string) (string, error) {
	path, err := resolve(path)
	if err != nil {
		return "", fmt.Errorf("sqlite: %w", err)
	}
	f, err := os.OpenFile(path+".lock", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("sqlite: looking at the lock of %s: %w", path, err)
	}
	defer f.Close() //nolint:errcheck // ends the lock, if there is one
	free, err := tryLock(f)
	if err != nil {
		return "", fmt.Errorf("sqlite: looking at the lock of %s: %w", path, err)
	}
	if free {
		return "", nil
	}
	return holder(f), nil
}
