package core

import (
	"slices"
	"sync"
	"time"

	"parley/core/chat"
)

// leaseMargin is how long before its end a lease counts as over: a request takes a moment to leave.
const leaseMargin = time.Second

// lease is what this process knows of its own heartbeats. While they follow each other without a gap, no other process can have
// started a run that this one holds. After a gap, such as a pause or a store out of reach, one can.
type lease struct {
	mu    sync.Mutex
	until time.Time
	gaps  int
}

// renewed notes that the store has recorded a heartbeat that counts until then.
func (l *lease) renewed(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !time.Now().Before(l.until.Add(-leaseMargin)) {
		l.gaps++
	}
	l.until = until
}

// gap numbers the last gap.
func (l *lease) gap() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gaps
}

// unbroken reports whether there has been no gap after the one with this number.
func (l *lease) unbroken(since int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gaps == since && time.Now().Before(l.until.Add(-leaseMargin))
}

// holds is [answer.ErrLost] if another process has the run. It asks the journal only if the lease has had a gap, and waits for it:
// what a process shows that has lost a run would stand instead of the answer.
func (x *execution) holds() error {
	x.mu.Lock()
	since := x.since
	x.mu.Unlock()
	if x.rt.lease.unbroken(since) {
		return nil
	}
	gap := x.rt.lease.gap()
	if err := x.Note(x.life, chat.Note{}); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.since = gap
	return nil
}

// isNoted reports whether the journal holds s already.
func (x *execution) isNoted(s chat.Shown) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if noted, ok := x.shown[s.Part]; ok {
		return noted == s
	}
	return slices.Contains(x.run.Shown, s)
}
