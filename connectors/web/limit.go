package web

import (
	"net/netip"
	"sync"
	"time"
)

// limiter allows each address so many requests in a time, evenly, with a burst of all of them. It keeps nothing of
// addresses that have their whole budget again.
type limiter struct {
	n    int
	per  time.Duration
	mu   sync.Mutex
	next map[netip.Prefix]time.Time // when the address will have used nothing
	swat time.Time                  // when to forget old ones
}

func newLimiter(n int, per time.Duration) *limiter {
	return &limiter{n: n, per: per, next: map[netip.Prefix]time.Time{}}
}

// take says how long to wait; 0 is a yes.
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
