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

// periodic are calls that are made again soon: tests do not fail each of them. Tests of leases and upkeep do that.
var periodic = []string{"RenewLease", "OpenRooms", "Expire"}

// failingStore makes one call of a store fail, once, before the store has done anything. The call is named by its method, because calls of
// different goroutines have no fixed order.
type failingStore struct {
	method string
	nth    int // which call of the method fails, from 1; 0 is none

	mu    sync.Mutex
	calls []string
}

// wrap returns s with this fault.
func (f *failingStore) wrap(s storage.Store) storage.Store {
	return &storagetest.Interceptor{Store: s, Around: func(_ context.Context, c storagetest.Call, do func() error) error {
		if !slices.Contains(periodic, c.Method) && f.shouldFail(c.Method) {
			return errOnce
		}
		return do()
	}}
}

// shouldFail adds a call, and reports whether it is the one that fails.
func (f *failingStore) shouldFail(method string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, method)
	return method == f.method && countOf(method, f.calls) == f.nth
}

// failedCall is the name of the call that failed, or "".
func (f *failingStore) failedCall() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nth == 0 || countOf(f.method, f.calls) < f.nth {
		return ""
	}
	return f.method
}

// countOf is how many of calls have that method.
func countOf(method string, calls []string) (n int) {
	for _, c := range calls {
		if c == method {
			n++
		}
	}
	return n
}
