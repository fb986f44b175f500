package web

import (
	"context"
	"net/netip"
	"sync"
)

// share divides a fixed amount among addresses, so that one of them can't take it all. The zero share is empty.
type share struct {
	all  int64 // the total
	each int64 // the maximum per address

	mu    sync.Mutex
	held  int64
	by    map[netip.Prefix]int64
	freed chan struct{} // created by waiters, closed when an amount is returned
}

// take reports whether n was available for who. The caller must give it back.
func (s *share) take(who netip.Prefix, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeLocked(who, n)
}

func (s *share) takeLocked(who netip.Prefix, n int64) bool {
	if s.held+n > s.all || s.by[who]+n > s.each {
		return false
	}
	if s.by == nil {
		s.by = map[netip.Prefix]int64{}
	}
	s.held += n
	s.by[who] += n
	return true
}

// wait takes n once it is available. It fails with the cause of ctx. An n greater than each never becomes available.
func (s *share) wait(ctx context.Context, who netip.Prefix, n int64) error {
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
func (s *share) give(who netip.Prefix, n int64) {
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
