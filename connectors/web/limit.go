package web

import (
	"net/netip"
	"sync"
	"time"
)

// limiter allows each address a number of requests per interval, at a steady rate with a burst of the full number. It
// stores one time for each address, the one at which its budget is full again, and nothing for addresses with their
// full budget. Old entries are removed once per interval. It is safe for concurrent use.
type limiter struct {
	n    int
	per  time.Duration
	mu   sync.Mutex
	next map[netip.Prefix]time.Time // when the address's budget is full again
	swat time.Time                  // the next removal of old entries
}

func newLimiter(n int, per time.Duration) *limiter {
	return &limiter{n: n, per: per, next: map[netip.Prefix]time.Time{}}
}

// take counts a request and returns 0, or returns how long to wait if it is not allowed; that is not counted.
func (l *limiter) take(who netip.Prefix) time.Duration {
	if l.n == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.After(l.swat) {
		for k, t := range l.next {
			if t.Before(now) {
				delete(l.next, k)
			}
		}
		l.swat = now.Add(l.per)
	}
	// Each request moves the time of a full budget one step on. It may be at most the interval ahead.
	step := l.per / time.Duration(l.n)
	at := l.next[who]
	if at.Before(now) {
		at = now
	}
	if wait := at.Add(step).Sub(now.Add(l.per)); wait > 0 {
		return wait
	}
	l.next[who] = at.Add(step)
	return 0
}
