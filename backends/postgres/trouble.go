package postgres

import (
	"sync"
)

// trouble holds the last error of the database, nil after a successful write. Ping reports it, so that a readiness
// probe fails at once while nothing can be stored. It is safe for concurrent use.
type trouble struct {
	mu  sync.Mutex
	err error
}

// set stores err if it is nil or an error of the database that can pass. Errors of what was asked, such as a missing
// row, say nothing about the database.
func (t *trouble) set(err error) {
	if _, ok := Unavailable(err); err != nil && !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

// get returns why nothing can be stored now, or nil.
func (t *trouble) get() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
