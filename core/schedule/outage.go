package schedule

import (
	"sync"
	"time"
)

// Outage tells the first failure in a row from those that follow, so that the log has one line for its begin and one for its end. The
// zero Outage has not begun. It is safe for concurrent use.
type Outage struct {
	mu    sync.Mutex
	since time.Time
}

// Failed reports whether a failure is the first in a row.
func (o *Outage) Failed() (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first = o.since.IsZero()
	if first {
		o.since = time.Now()
	}
	return first
}

// Ended reports whether a success is the first after a failure, and how long after the first failure.
func (o *Outage) Ended() (lasted time.Duration, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return 0, false
	}
	lasted = time.Since(o.since)
	o.since = time.Time{}
	return lasted, true
}
