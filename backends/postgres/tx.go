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
)

// How long calls can take. Keep-alives don't notice a server that is paused: its kernel goes on answering them.
const (
	patience   = 5 * time.Second // to get a connection, and then for a transaction
	claimPause = 2 * time.Second // to see whether the lock of the process is still there
	lockWait   = 4 * time.Second // for a room that others write to
)

// tries is how often a transaction is tried that another one was in the way of, or whose connection was lost.
const tries = 6

// querier is what connections and pools have in common.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// read runs do outside of transactions: each of its statements sees what is committed. It can run several times.
func (s *database) read(ctx context.Context, do func(context.Context, querier) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	return s.try(ctx, int(s.pool.Config().MaxConns)+1, func(ctx context.Context, c *pgxpool.Conn) error { return do(ctx, c) })
}

// write runs do in a transaction that is alone with on. It can run several times. It waits for its turn as long as ctx allows, but
// is not cut off once it has begun: what it says is then what happened.
func (s *database) write(ctx context.Context, on scope, do func(context.Context, querier) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	if s.claim.isLost() {
		return errTaken
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	free, err := s.turns.take(ctx, on)
	if err != nil {
		return err
	}
	defer free()
	err = s.try(ctx, tries, func(ctx context.Context, c *pgxpool.Conn) error { return s.transact(ctx, c, on, do) })
	s.trouble.set(err)
	return err
}

// try runs do with a connection, and again after errors that another try can mend.
func (s *database) try(ctx context.Context, tries int, do func(context.Context, *pgxpool.Conn) error) error {
	for n := 0; ; n++ {
		err := s.once(ctx, do)
		if err == nil || n == tries-1 || !again(err) {
			return err
		}
		if !broken(err) { // others need a moment
			time.Sleep(time.Duration(1+n*n) * 3 * time.Millisecond)
		}
	}
}

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
	defer c.Release() // a connection within a transaction is closed
	running, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), patience, errSilent)
	defer cancel()
	err = causeOf(running, do(running, c))
	if errors.Is(err, errSilent) {
		s.trouble.set(err) // until a write succeeds, such as the next heartbeat
	}
	return err
}

// causeOf returns why ctx is done, if that is why err came about.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

// transact runs do in a transaction.
func (s *database) transact(ctx context.Context, c *pgxpool.Conn, on scope, do func(context.Context, querier) error) error {
	session := sessionOf(c.Conn())
	if err := session.begin(ctx, c.Conn(), on); err != nil {
		return err
	}
	if err := do(ctx, c); err != nil {
		if _, failed := c.Exec(ctx, "rollback"); failed != nil || readOnly(err) {
			_ = c.Conn().Close(ctx) // another connection may reach the server that has taken over
		}
		return err
	}
	saved, err := s.along.save(ctx, c)
	if err == nil {
		err = s.commit(ctx, c.Conn(), *session)
	}
	saved(err)
	return err
}

// session is one connection. The database remembers the last transaction that it committed.
type session struct {
	name string
	n    int64
}

func sessionOf(c *pgx.Conn) *session {
	const key = "parley"
	known, ok := c.PgConn().CustomData()[key].(*session)
	if !ok {
		known = &session{name: strings.ToLower(rand.Text())}
		c.PgConn().CustomData()[key] = known
	}
	return known
}

// begin begins a transaction with all locks, in one exchange.
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
		_ = c.Close(ctx)
	}
	return err
}

// commit commits. Where the connection is lost meanwhile, it looks how that ended.
func (s *database) commit(ctx context.Context, c *pgx.Conn, of session) error {
	tag, err := c.Exec(ctx, "commit")
	switch {
	case err == nil && tag.String() != "COMMIT":
		return errors.New("the transaction was rolled back")
	case err == nil || !broken(err) && !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	_ = c.Close(ctx)
	s.trouble.set(errSilent)
	return s.outcome(of, err)
}

// outcome tells whether a transaction was committed whose connection was lost with err. While the server still works at it, the
// row is locked, and outcome waits.
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
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errUnknown, err)
		}
	}
}

// collect reads all rows.
func collect[T any](rows pgx.Rows, err error, scan func(record.Row) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (T, error) { return scan(r) })
}
