package sqlite

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Unavailable reports whether err can resolve without a change of the configuration, with a reason for the owner: the
// disk is full or fails, or another program has locked the file.
func Unavailable(err error) (reason string, ok bool) {
	var e *driver.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff { // without what extends it
		case sqlite3.SQLITE_FULL:
			return diskFull, true
		case sqlite3.SQLITE_IOERR:
			return "the disk can't be read or written", true
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return "another program has locked the store", true
		}
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return diskFull, true
	case errors.Is(err, syscall.EIO):
		return "the disk can't be read or written", true
	}
	return "", false
}

const diskFull = "the disk is full"

// trouble is why the last transaction could not be committed.
type trouble struct {
	mu  sync.Mutex
	err error
}

func (t *trouble) set(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

// get returns why nothing can be stored now, or nil.
func (t *trouble) get() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		return nil
	}
	if reason, ok := Unavailable(t.err); ok {
		return fmt.Errorf("%s: %w", reason, t.err)
	}
	return t.err
}
