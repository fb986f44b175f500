package postgres

import (
	"sync"
)

// trouble is why the last transaction could not be committed.
type trouble struct {
	mu  sync.Mutex
	err error
}

// set remembers errors of the database, not those of what was asked of it.
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
