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

// failing makes one call of a store fail, once, before the store has done anything. The call is named by its method, because calls of
// different goroutines have no fixed order.
type failing struct {
	method string
	nth    int // which call of the method fails, from 1; 0 is none

	mu    sync.Mutex
	calls []string
}

// around returns s with this fault.
func (f *failing) around(s storage.Store) storage.Store {
	return &storagetest.Interceptor{Store: s, Around: func(_ context.Context, c storagetest.Call, do func() error) error {
		if !slices.Contains(periodic, c.Method) && f.counts(c.Method) {
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
	return method == f.method && countOf(method, f.calls) == f.nth
}

// failed is the name of the call that failed, or "".
func (f *failing) failed() string {
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
