package schedule

import (
	"sync"
	"time"
)

// leaseMargin is how long before its end a lease counts as over: a request takes a moment to leave.
const leaseMargin = time.Second

// Lease tracks the heartbeats of its own process. While they follow each other without a gap, no other process can
// have started a run that this one holds. After a gap, such as a pause of the machine or a store out of reach, another
// process can have. It saves a question to the store before each step; the store still refuses what a process with a
// wrong belief writes. The zero Lease has never been renewed. It is safe for concurrent use.
type Lease struct {
	mu    sync.Mutex
	until time.Time
	gaps  int
}

// Renewed notes that the store has recorded a heartbeat that counts until then. until must be computed from a time
// before the request was sent.
func (l *Lease) Renewed(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !time.Now().Before(l.until.Add(-leaseMargin)) {
		l.gaps++
	}
	l.until = until
}

// Gap returns the number of the last gap, for Unbroken.
func (l *Lease) Gap() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gaps
}

// Unbroken reports whether there has been no gap after the one with this number.
func (l *Lease) Unbroken(since int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gaps == since && time.Now().Before(l.until.Add(-leaseMargin))
}
