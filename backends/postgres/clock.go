package postgres

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"parley/backends/record"
)

// serverNow is the present by the clock of the database.
const serverNow = `(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint`

// clock follows the clock of the database, which is the same for all processes. What is stored has its times; what callers see
// has those of the process.
type clock struct {
	now  func() time.Time
	own  bool // the process's clock is the database's
	base atomic.Pointer[moment]
}

// moment is a time by both clocks.
type moment struct {
	local  time.Time
	server int64
}

// measure asks the database for its time.
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

// set learns that the database's time was server at a moment between before and now.
func (c *clock) set(before time.Time, server int64) {
	if !c.own {
		c.base.Store(&moment{before.Add(c.now().Sub(before) / 2), server})
	}
}

// nanos is the present by the clock of the database. A step of the process's clock does not change it.
func (c *clock) nanos() int64 {
	if c.own {
		return record.Nanos(c.now())
	}
	m := c.base.Load()
	return m.server + int64(c.now().Sub(m.local))
}

// ahead is by how much the clock of the database is ahead of the process's.
func (c *clock) ahead() int64 {
	if c.own {
		return 0
	}
	now := c.now()
	m := c.base.Load()
	return m.server + int64(now.Sub(m.local)) - now.UnixNano()
}

// stored turns a time of the process into one of the database.
func (c *clock) stored(t time.Time) int64 {
	n := record.Nanos(t)
	if n == 0 || n == math.MinInt64 || n == math.MaxInt64 {
		return n
	}
	return n + c.ahead()
}

// local turns a stored time into one of the process.
func (c *clock) local(t time.Time) time.Time {
	if t.IsZero() || c.own {
		return t
	}
	return t.Add(-time.Duration(c.ahead()))
}
