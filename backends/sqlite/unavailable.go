package sqlite

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	driver "modernc.org/sqlite"
	native "zombiezen.com/go/sqlite"
)

// Unavailable reports whether err can resolve without a change of the configuration, with a reason for the owner: the
// disk is full or fails, or another program has locked the file. Callers retry after such errors, and give up after
// others.
func Unavailable(err error) (reason string, ok bool) {
	code := native.ErrCode(err)
	var e *driver.Error // of a migration
	if errors.As(err, &e) {
		code = native.ResultCode(e.Code())
	}
	switch code.ToPrimary() {
	case native.ResultFull:
		return diskFull, true
	case native.ResultIOErr:
		return "the disk can't be read or written", true
	case native.ResultBusy, native.ResultLocked:
		return "another program has locked the store", true
	}
	switch {
	// Errors from outside of SQLite: the lock file, or creating the database.
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return diskFull, true
	case errors.Is(err, syscall.EIO):
		return "the disk can't be read or written", true
	}
	return "", false
}

const diskFull = "the disk is full"

// trouble holds why the last batch of writes could not be stored, nil after a successful one. [Store.Ping] reports it, so that a readiness
// probe fails while nothing can be stored, without writing itself. It is safe for concurrent use.
type trouble struct {
	mu  sync.Mutex
	err error
}

func (t *trouble) set(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

// troubleOf returns the error of a commit. Where that succeeded, it is that of a write which was not a part of it, because the disk was
// full already when one of its statements ran.
func troubleOf(jobs []*job, commit error) error {
	if commit != nil {
		return commit
	}
	for _, j := range jobs {
		if _, ok := Unavailable(j.err); ok {
			return j.err
		}
	}
	return nil
}

// get returns why the last writes failed, with a reason for the owner if there is one, or nil.
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
