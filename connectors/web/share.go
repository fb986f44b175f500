package web

import (
	"context"
	"sync"
)

// share divides a fixed amount among addresses, so that one of them can't take it all. The zero share is empty. It is
// safe for concurrent use, and keeps entries only for addresses that hold something.
type share struct {
	all  int64 // the total
	each int64 // the maximum per address

	mu   sync.Mutex
	held int64
	by   map[caller]int64
	// freed is created by waiters, and closed when an amount is returned, which wakes all of them. There is no queue:
	// fairness among waiters is left to chance, since all time out within seconds.
	freed chan struct{}
}

// take reports whether n was available for who. The caller must give it back.
func (s *share) take(who caller, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeLocked(who, n)
}

// hold takes 1 and returns the function that gives it back, or nil if nothing was available. Streams hold it on the heap: their
// stacks stay small.
func (s *share) hold(who caller) (release func()) {
	if !s.take(who, 1) {
		return nil
	}
	return func() { s.give(who, 1) }
}

// takeLocked requires the lock.
func (s *share) takeLocked(who caller, n int64) bool {
	if s.held+n > s.all || s.by[who]+n > s.each {
		return false
	}
	if s.by == nil {
		s.by = map[caller]int64{}
	}
	s.held += n
	s.by[who] += n
	return true
}

// wait takes n once it is available. It fails with the cause of ctx. An n greater than each never becomes available, so
// the caller must bound it.
func (s *share) wait(ctx context.Context, who caller, n int64) error {
	for {
		s.mu.Lock()
		if s.takeLocked(who, n) {
			s.mu.Unlock()
			return nil
		}
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// give returns n.
func (s *share) give(who caller, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 {
		return
	}
	s.held -= n
	if s.by[who] -= n; s.by[who] == 0 {
		delete(s.by, who)
	}
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}
