package schedule

import (
	"sync"
	"time"
)

// leaseMargin is how long before its end a lease counts as over: a request takes a moment to leave.
const leaseMargin = time.Second

// Lease tracks the heartbeats of its own process. While they follow each other without a gap, no other process can have
// started a run that this one holds. After a gap, such as a pause of the machine or an unreachable store, another
// process can have. It saves a read of the store before each step; the store still refuses the writes of a process that
// has lost a run unnoticed. The zero Lease has never been renewed. It is safe for concurrent use.
type Lease struct {
	mu    sync.Mutex
	until time.Time
	gaps  int

	renewed chan struct{} // closed by the next heartbeat; nil if nothing waits for it
}

// Renewed records that the store has stored a heartbeat that is valid until then. until must be computed from a time
// before the request was sent.
func (l *Lease) Renewed(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !time.Now().Before(l.until.Add(-leaseMargin)) {
		l.gaps++
	}
	l.until = until
	if l.renewed != nil {
		close(l.renewed)
		l.renewed = nil
	}
}

// Gap returns the number of the last gap, for Unbroken.
func (l *Lease) Gap() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gaps
}

// Live reports whether the last heartbeat still counts.
func (l *Lease) Live() bool { return l.Unbroken(l.Gap()) }

// Confirm returns the number of the last gap that did not cost this process its runs. It returns at once if there
// was no gap after since, and otherwise when ask has confirmed it. The answer counts only while the lease is valid: without
// one, another process can start the run right after the answer. So Confirm waits for a heartbeat then, and asks again.
// It fails with the error of ask, which has to fail when the run ends.
func (l *Lease) Confirm(since int, ask func() error) (int, error) {
	for !l.Unbroken(since) {
		gap, renewed := l.state()
		if err := ask(); err != nil {
			return since, err
		}
		if since = gap; l.Live() {
			continue
		}
		select {
		case <-renewed:
		case <-time.After(leaseMargin):
		}
	}
	return since, nil
}

// state returns the number of the last gap, and a channel that is closed by the next heartbeat.
func (l *Lease) state() (gap int, renewed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed == nil {
		l.renewed = make(chan struct{})
	}
	return l.gaps, l.renewed
}

// Unbroken reports whether there has been no gap after the one with this number.
func (l *Lease) Unbroken(since int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gaps == since && time.Now().Before(l.until.Add(-leaseMargin))
}
