package web

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"parley/core/chat"
)

// office is how many visitors' limits an address has, if they have tokens.
const office = 16

// crowd is how many visitors' limits the anonymous visitors of a site have together, whatever their addresses.
const crowd = office * office

// caller is the subject of a limit: an address, an address that visitors with tokens share, a visitor, or the anonymous visitors of
// a site.
type caller struct {
	site   string // see [guard.site]
	from   netip.Prefix
	shared bool
	who    chat.EntityID
}

// limiter allows each sender a number of requests per interval, at a steady rate with a burst of the full number. It
// stores one time for each address, the moment when its budget is full again, and nothing for addresses with their full
// budget. Old entries are removed once per interval. It is safe for concurrent use.
type limiter struct {
	n    int
	per  time.Duration
	mu   sync.Mutex
	next map[caller]time.Time // when the sender's budget is full again
	swat time.Time            // the next removal of old entries
}

func newLimiter(n int, per time.Duration) *limiter {
	return &limiter{n: n, per: per, next: map[caller]time.Time{}}
}

// take counts a request and returns 0, or returns how long to wait if it is not allowed; that is not counted.
func (l *limiter) take(who caller) time.Duration { return l.takeOf(who, l.n) }

// takeOf is take for another number.
func (l *limiter) takeOf(who caller, n int) time.Duration {
	if n == 0 {
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
	step := l.per / time.Duration(n)
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

// refund undoes a takeOf with the same number.
func (l *limiter) refund(who caller, n int) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.next[who]; ok {
		l.next[who] = at.Add(-l.per / time.Duration(n))
	}
}

const (
	seldomPause = time.Hour
	maxSeldom   = 100 // remembered names; further ones are not reported
)

// seldom limits how often a name is reported. The names come from strangers, so it remembers only a few. Safe for
// concurrent use.
type seldom struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func newSeldom() *seldom { return &seldom{until: map[string]time.Time{}} }

// first reports whether name is due to be reported.
func (s *seldom) first(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for n, until := range s.until {
		if !now.Before(until) {
			delete(s.until, n)
		}
	}
	if _, known := s.until[name]; known || len(s.until) >= maxSeldom {
		return false
	}
	s.until[name] = now.Add(seldomPause)
	return true
}

// failuresApart is the shortest time between two log lines about the same failure.
const failuresApart = time.Minute

// failures logs internal errors of requests: each kind at most once a minute, with the number of those that were left
// out since. Otherwise every visitor's request would write a line while the store is away. It is safe for concurrent use.
type failures struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[string]failed // by what failed: a few constants, so they need no bound
}

func newFailures(log *slog.Logger) *failures { return &failures{log: log, kinds: map[string]failed{}} }

// note logs err, unless it logged an error of the same kind a moment ago.
func (f *failures) note(what string, err error) {
	now := time.Now()
	f.mu.Lock()
	k := f.kinds[what]
	silent := !k.logged.IsZero() && now.Sub(k.logged) < failuresApart
	if silent {
		k.leftOut++
		f.kinds[what] = k
	} else {
		f.kinds[what] = failed{logged: now}
	}
	f.mu.Unlock()
	if !silent {
		f.log.Error("a web request failed", "what", what, "err", err, "others_before", k.leftOut)
	}
}

// refuse logs an internal error and returns the response, which contains nothing of the error. All responses tell the
// client that trying again makes sense.
func (f *failures) refuse(what string, err error) *refusal {
	switch {
	case errors.Is(err, chat.ErrShutdown):
		no := refused(http.StatusServiceUnavailable, "refused.restarting")
		no.wait = time.Second
		return no
	case errors.Is(err, errCrowded):
		return refused(http.StatusServiceUnavailable, "refused.busy")
	}
	f.note(what, err)
	return refused(http.StatusServiceUnavailable, "refused.not_saved")
}

// failed counts the failures of one kind.
type failed struct {
	logged  time.Time
	leftOut int // since then
}
