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

// takeWait is how long a new process waits for one that is just ending.
const takeWait = 3 * time.Second

// InUseError means that another gateway has claimed the database.
type InUseError struct {
	Holder  string // its process, host, and start time
	Several bool   // it allows others, if they share what is kept in memory
}

func (e *InUseError) Error() string {
	text := fmt.Sprintf("the database is in use by %s; only one gateway can use it while shared is inmem:", e.Holder)
	if e.Several {
		return text + ". That gateway shares its state over Redis: set shared to the same redis:// address here"
	}
	return text + ". For several, set shared of all to the same redis:// address"
}

// claim is the lock that says that a gateway uses the database, or several do. It belongs to a connection of its own, so that the
// database ends it with the process.
type claim struct {
	config  *pgx.ConnConfig
	id      string
	several bool

	keeping sync.Mutex // one at a time looks

	mu   sync.Mutex
	conn *pgx.Conn
	lost bool // another has it
}

// take takes the lock. It waits for it no longer than wait.
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

// holder returns who has the lock.
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

// keep looks whether the lock is still there, and takes it once more if the connection was lost. It fails only if another has it
// now: where the database can't be reached, the next heartbeat of the runtime tries again.
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
	err := c.take(ctx, time.Millisecond)
	if used := (*InUseError)(nil); errors.As(err, &used) {
		c.mu.Lock()
		c.lost = true
		c.mu.Unlock()
		return fmt.Errorf("%w: %w", errTaken, err)
	}
	return nil
}

func (c *claim) isLost() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

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
