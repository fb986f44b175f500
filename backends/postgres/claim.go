package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// takeWait is the time that a starting process waits for the claim: the one before may just be ending.
const takeWait = 3 * time.Second

// InUseError is returned by [Open] if another gateway has claimed the database in a way that excludes this one.
type InUseError struct {
	Holder  string // its process, host, and start time
	Several bool   // its claim is shared, so this gateway could join with [Options.Several]
}

// Error implements error.
func (e *InUseError) Error() string {
	text := fmt.Sprintf("the database is in use by %s; only one gateway can use it while shared is inmem:", e.Holder)
	if e.Several {
		return text + ". That gateway shares its state over Redis: set shared to the same redis:// address here"
	}
	return text + ". For several, set shared of all to the same redis:// address"
}

// claim is an advisory lock of the session, exclusive for a gateway that uses the database alone, shared for several.
// Its connection is not part of the pool, and does nothing else. So the database releases the lock when the process
// dies or is cut off, and no stale lock can remain. A connection can be lost while the process lives, so heartbeats
// check it, see keep.
type claim struct {
	config  *pgx.ConnConfig
	id      string
	several bool

	keeping sync.Mutex // serializes keep, which would otherwise open two connections

	mu   sync.Mutex // guards conn and lost
	conn *pgx.Conn  // holds the lock; nil before take and after release
	lost bool       // another gateway has taken it; then nothing is written any more
}

// take opens a connection and takes the lock on it, waiting at most wait. It returns [*InUseError] if another gateway
// keeps it.
func (c *claim) take(ctx context.Context, wait time.Duration) error {
	conn, err := pgx.ConnectConfig(ctx, c.config.Copy())
	if err != nil {
		return err
	}
	if err := c.lock(ctx, conn, wait); err != nil {
		_ = conn.Close(ctx)
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.lost = conn, false
	return nil
}

// lock takes the lock on conn. The timeout of locks is the wait; 0 would mean no limit, hence max.
func (c *claim) lock(ctx context.Context, conn *pgx.Conn, wait time.Duration) error {
	key := keyOf("gateway", c.id)
	lock := `SELECT pg_advisory_lock($1)`
	if c.several {
		lock = `SELECT pg_advisory_lock_shared($1)`
	}
	if _, err := conn.Exec(ctx, fmt.Sprintf(`SET lock_timeout = %d`, max(wait.Milliseconds(), 1))); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, lock, key)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == lockTimeout {
		return permanent{c.holder(ctx, conn, key)}
	}
	return err
}

// holder returns an [*InUseError] that names the process that has the lock, as far as pg_stat_activity shows it to this
// user. A key of 64 bits is stored in pg_locks as two halves.
func (c *claim) holder(ctx context.Context, conn *pgx.Conn, key int64) error {
	used := &InUseError{Holder: "another gateway"}
	var name, from string
	var mode string
	var since time.Time
	err := conn.QueryRow(ctx, `
		SELECT coalesce(a.application_name, ''), coalesce(a.client_addr::text, 'this machine'), l.mode, coalesce(a.backend_start, now())
		FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND (l.classid::bigint << 32 | l.objid::bigint) = $1
		LIMIT 1`, key).Scan(&name, &from, &mode, &since)
	if err == nil {
		used.Several = mode == "ShareLock"
		if name != "" {
			used.Holder = fmt.Sprintf("%s (at %s, since %s)", name, from, since.UTC().Format(time.RFC3339))
		}
	}
	return used
}

// keep checks that the lock is still held, and takes it once more if the connection was lost. It returns an error only
// if another gateway has it now. If the database can't be reached, it returns nil: the heartbeat that called it reports
// that itself, and the next one tries again. A nil claim, that of a guest, keeps nothing.
func (c *claim) keep(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.keeping.Lock()
	defer c.keeping.Unlock()
	ctx, cancel := context.WithTimeout(ctx, claimPause)
	defer cancel()
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil && conn.Ping(ctx) == nil {
		return nil
	}
	if conn != nil {
		_ = conn.Close(ctx)
	}
	// It does not wait: a gateway that has got the lock meanwhile keeps it.
	err := c.take(ctx, time.Millisecond)
	if used := (*InUseError)(nil); errors.As(err, &used) {
		c.mu.Lock()
		c.lost = true
		c.mu.Unlock()
		return fmt.Errorf("%w: %w", errTaken, err)
	}
	return nil
}

// isLost reports whether another gateway has taken the lock. All writes check it.
func (c *claim) isLost() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// release gives the lock back, by closing its connection.
func (c *claim) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.conn.Close(ctx) // the lock ends with it
		c.conn = nil
	}
}
