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

const (
	smallBody    = 256 << 10 // bytes: any text, and no picture
	maxLarge     = 6         // larger bodies that are read at once
	maxLargeEach = 2         // and of one address
	largeWait    = 5 * time.Second
)

// uploads bounds how many large bodies are held in memory at once. The zero uploads holds none.
type uploads struct {
	mu  sync.Mutex
	all int
	by  map[netip.Prefix]int
}

// enter says whether there is room for one more of who; if so, leave makes room again.
func (u *uploads) enter(who netip.Prefix) (leave func(), ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all >= maxLarge || u.by[who] >= maxLargeEach {
		return nil, false
	}
	if u.by == nil {
		u.by = map[netip.Prefix]int{}
	}
	u.all++
	u.by[who]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.all--
		if u.by[who]--; u.by[who] == 0 {
			delete(u.by, who)
		}
	}, true
}
