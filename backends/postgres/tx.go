package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"parley/backends/record"
	"parley/backends/sqlstore"
	"parley/internal/rest"
)

// How long calls can take. Keep-alives don't notice a server that is paused: its kernel still answers them.
const (
	patience   = 5 * time.Second // to get a connection, and once more for a transaction
	claimPause = 2 * time.Second // to check that the claim still exists
	lockWait   = 4 * time.Second // for a room that others write to; shorter than patience, so a busy room is not taken for a silent database
)

// tries is the maximum number of attempts of a transaction that collided with another one, or whose connection was
// lost.
const tries = 6

// querier has the common methods of connections, transactions and pools.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// read calls do with a connection, outside of a transaction: each statement sees the commits before its beginning. do
// can be called several times, so it must assign its results, not add to them. After a restart of the server every idle
// connection of the pool is broken, and each fails once before it is replaced, hence the number of tries.
func (s *database) read(ctx context.Context, do func(context.Context, querier) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	defer s.observe("read")()
	return s.try(ctx, int(s.pool.Config().MaxConns)+1, func(ctx context.Context, c *pgxpool.Conn) error { return do(ctx, c) })
}

// write calls do in a transaction that has the locks of on, and returns after the commit. do can be called several
// times, so it must assign its results, not add to them. If do returns an error, its changes are rolled back and write
// returns that error.
//
// ctx bounds the wait for a turn and for a connection. A transaction that has begun is not canceled any more, so that
// the result of write is true. It is bounded by patience instead.
func (s *database) write(ctx context.Context, on scope, do func(context.Context, querier) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	// Another gateway has taken the database while this one could not reach it. It has adopted the runs of this one, so
	// further writes would mix two owners.
	if s.claim.isLost() {
		return errTaken
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	defer s.observe("write")()
	// Calls that need the same lock wait here first, without a connection. Otherwise one busy room could take all
	// connections of the pool, each waiting for the same lock.
	free, err := s.turns.take(ctx, on)
	if err != nil {
		return err
	}
	defer free()
	err = s.try(ctx, tries, func(ctx context.Context, c *pgxpool.Conn) error { return s.transact(ctx, c, on, do) })
	s.trouble.set(err)
	return err
}

// try calls do with a connection, and repeats it after errors that another attempt can mend. The pause grows with the
// attempts, so that transactions that collided come apart; after a lost connection there is none, as the next
// connection is a new one.
func (s *database) try(ctx context.Context, tries int, do func(context.Context, *pgxpool.Conn) error) error {
	for n := 0; ; n++ {
		err := s.once(ctx, do)
		if err == nil || n == tries-1 || !again(err) {
			return err
		}
		if !broken(err) { // the others need a moment to finish
			time.Sleep(time.Duration(1+n*n) * 3 * time.Millisecond)
		}
	}
}

// once calls do with a connection of the pool. Getting one is bounded by ctx and patience, do is
// bounded by patience only.
func (s *database) once(ctx context.Context, do func(context.Context, *pgxpool.Conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	acquiring, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	c, err := s.pool.Acquire(acquiring)
	if err != nil {
		return causeOf(acquiring, err)
	}
	defer c.Release() // the pool closes a connection that is still in a transaction
	running, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), patience, errSilent)
	defer cancel()
	err = causeOf(running, do(running, c))
	if errors.Is(err, errSilent) {
		s.trouble.set(err) // reported by Ping until a write succeeds, such as the next heartbeat
	}
	s.renew(err)
	return err
}

// renew closes all connections of the pool if err means that the server is read-only; those in use are closed after it. New ones
// may reach the server that has taken over. The old ones can stay read-only when the server no longer is: a session keeps the
// default_transaction_read_only that it began with.
func (s *database) renew(err error) {
	if readOnly(err) {
		s.pool.Reset()
	}
}

// causeOf returns the cause of the end of ctx, such as errSilent, if that is why err happened; otherwise err.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

// transact runs do in a transaction with the locks of on.
func (s *database) transact(ctx context.Context, c *pgxpool.Conn, on scope, do func(context.Context, querier) error) error {
	session := sessionOf(c.Conn())
	if err := session.begin(ctx, c.Conn(), on); err != nil {
		return err
	}
	if err := do(ctx, c); err != nil {
		if _, failed := c.Exec(ctx, "rollback"); failed != nil {
			_ = c.Conn().Close(ctx) // the state of the session is unknown
		}
		return err
	}
	// The budgets are saved last, with the spending up to this moment, and cost no commit of their own.
	saved, err := s.along.save(ctx, c)
	if err == nil {
		err = s.commit(ctx, c.Conn(), *session)
	}
	saved(err)
	return err
}

// session numbers the transactions of one connection. Each transaction writes its number into the row of its session in
// the table commits, so whether it was committed can be looked up over another connection, even while the server still
// works on it: then the row is locked.
type session struct {
	name string // random, so that it is unique among all processes
	n    int64  // the number of the last transaction that was begun
}

// sessionOf returns the session of a connection. It is stored with the connection, which outlives its use by one call.
func sessionOf(c *pgx.Conn) *session {
	const key = "parley"
	known, ok := c.PgConn().CustomData()[key].(*session)
	if !ok {
		known = &session{name: strings.ToLower(rand.Text())}
		c.PgConn().CustomData()[key] = known
	}
	return known
}

// begin begins a transaction, takes the locks, and writes its number, in one round trip. The keys are numbers and the
// name is random letters, so the statements can be put together as text; the simple protocol, which allows several at
// once, has no parameters.
func (s *session) begin(ctx context.Context, c *pgx.Conn, on scope) error {
	s.n++
	statements := []string{"begin", fmt.Sprintf("set local lock_timeout = %d", lockWait.Milliseconds())}
	for _, key := range on {
		statements = append(statements, fmt.Sprintf("select pg_advisory_xact_lock(%d)", key))
	}
	statements = append(statements, fmt.Sprintf("insert into commits (session, n, at) values ('%s', %d, now()) "+
		"on conflict (session) do update set n = excluded.n, at = excluded.at", s.name, s.n))
	_, err := c.PgConn().Exec(ctx, strings.Join(statements, "; ")).ReadAll()
	if err != nil {
		// The batch failed in the middle, perhaps within a transaction.
		_ = c.Close(ctx)
	}
	return err
}

// commit commits. If the connection is lost meanwhile, or the server doesn't answer in time, it finds out how that
// ended, because the caller must not report a stored message as lost, and must not repeat a transaction that was
// committed.
func (s *database) commit(ctx context.Context, c *pgx.Conn, of session) error {
	tag, err := c.Exec(ctx, "commit")
	switch {
	// PostgreSQL answers ROLLBACK to the commit of a transaction with a failed statement.
	case err == nil && tag.String() != "COMMIT":
		return errors.New("the transaction was rolled back")
	case err == nil || !broken(err) && !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	// So that the server, if it still waits for this client, ends the session soon.
	_ = c.Close(ctx)
	s.trouble.set(errSilent)
	return s.outcome(of, err)
}

// outcome reports whether the transaction of a session was committed, whose connection was lost with err: nil if so,
// errRolledBack if not, errUnknown if it could not find out in time. It writes the row of the session, and so waits for
// the lock of a transaction that is still under way: after that, the number in the row is final. A session without a
// row has committed nothing yet, so the insert makes one with the number 0.
func (s *database) outcome(of session, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var n int64
		failed := s.pool.QueryRow(ctx, `
			INSERT INTO commits (session, n, at) VALUES ($1, 0, now()) ON CONFLICT (session) DO UPDATE SET at = excluded.at RETURNING n`, of.name).Scan(&n)
		switch {
		case failed == nil && n == of.n:
			return nil
		case failed == nil:
			return fmt.Errorf("%w: %w", errRolledBack, err)
		}
		s.renew(failed)
		if rest.For(ctx, pause) != nil {
			return fmt.Errorf("%w: %w", errUnknown, err)
		}
	}
}

// list reads all rows of a query.
func list[T any](ctx context.Context, q querier, scan func(record.Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, query, args...)
	return sqlstore.Collect(rows, err, scan)
}
