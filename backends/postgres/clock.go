package postgres

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"parley/backends/record"
)

// serverNow is the present by the clock of the database, in nanoseconds. clock_timestamp advances within a transaction;
// now() would be its beginning, before it waited for locks.
const serverNow = `(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint`

// clock converts between the clock of this process and the one of the database. Times that replicas compare with the
// present (when a run is ready, when a lease, a question or a hold ends) are stored by the clock of the database, which
// is the same for all, and are converted for callers. With clocks of the processes, one that is some seconds ahead
// would take runs from living owners. Times that are only shown or come from a platform are stored as they are. It is
// safe for concurrent use.
type clock struct {
	now  func() time.Time       // the clock of the process
	own  bool                   // tests: that is the database's too
	base atomic.Pointer[moment] // the last comparison of both
}

// moment is the same moment by both clocks.
type moment struct {
	local  time.Time // has a monotonic reading, which a step of the process's clock does not change
	server int64
}

// measure asks the database for its time. It must succeed once before other methods are used; heartbeats repeat it, see
// journal.beat.
func (c *clock) measure(ctx context.Context, q querier) error {
	if c.own {
		return nil
	}
	var server int64
	before := c.now()
	if err := q.QueryRow(ctx, `SELECT `+serverNow).Scan(&server); err != nil {
		return err
	}
	c.set(before, server)
	return nil
}

// set records that the database's time was server at a moment between before and now. It assumes the middle, so the
// error is at most half of the round trip.
func (c *clock) set(before time.Time, server int64) {
	if !c.own {
		c.base.Store(&moment{before.Add(c.now().Sub(before) / 2), server})
	}
}

// nanos returns the present by the clock of the database, without asking it.
func (c *clock) nanos() int64 {
	if c.own {
		return record.Nanos(c.now())
	}
	m := c.base.Load()
	return m.server + int64(c.now().Sub(m.local))
}

// ahead returns the lead of the database's clock over the process's wall clock, in nanoseconds; negative if
// it is behind.
func (c *clock) ahead() int64 {
	if c.own {
		return 0
	}
	now := c.now()
	m := c.base.Load()
	return m.server + int64(now.Sub(m.local)) - now.UnixNano()
}

// stored converts a time of the process for storing. Zero and the extremes mean "none" and "never", so they stay.
func (c *clock) stored(t time.Time) int64 {
	n := record.Nanos(t)
	if n == 0 || n == math.MinInt64 || n == math.MaxInt64 {
		return n
	}
	return n + c.ahead()
}

// local converts a stored time to one of the process.
func (c *clock) local(t time.Time) time.Time {
	if t.IsZero() || c.own {
		return t
	}
	return t.Add(-time.Duration(c.ahead()))
}
