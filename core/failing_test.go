package core_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"parley/core/storage"
	"parley/core/storage/storagetest"
)

var errOnce = errors.New("the store failed once")

// periodic are calls that are made again soon: stories are not played with each of them failing. Tests of leases and upkeep do that.
var periodic = []string{"Beat", "OpenRooms", "Expire"}

// unheeded is a call whose failure has an effect: an answer that is being written goes on when its message is deleted.
const unheeded = "Wake"

// failing makes one call of a store fail, once, before the store has done anything.
type failing struct {
	at int // which call fails, from 1; 0 is none

	mu    sync.Mutex
	calls []string
}

// around returns s with this fault.
func (f *failing) around(s storage.Store) storage.Store {
	return &storagetest.Interceptor{Store: s, Around: func(_ context.Context, c storagetest.Call, do func() error) error {
		if c.Method != unheeded && !slices.Contains(periodic, c.Method) && f.counts(c.Method) {
			return errOnce
		}
		return do()
	}}
}

// counts adds a call, and reports whether it is the one that fails.
func (f *failing) counts(method string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, method)
	return len(f.calls) == f.at
}

// failed is the name of the call that failed, or "".
func (f *failing) failed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at == 0 || len(f.calls) < f.at {
		return ""
	}
	return f.calls[f.at-1]
}
