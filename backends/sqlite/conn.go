package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	driver "zombiezen.com/go/sqlite"
)

// remembered is the number of statements that a connection caches. The store has fewer, so all of them fit; statements
// beyond are prepared each time.
const remembered = 256

// conn is a connection. One goroutine uses it at a time. It is used without [sql.DB]: the conversions and the locks of that, and
// the names of all columns that its driver reads for each query, were most of the objects that a turn allocated.
//
// It caches each statement it has prepared by its text, because preparing takes longer than running most of the store's
// statements. Values never become part of a text, so there are few texts.
type conn struct {
	db    *driver.Conn
	known map[string]*statement
	trace func(statement string)
	// changes are the changes of the transaction so far. Only the writer has them.
	changes *changes
}

// ExecContext runs a statement to its end and returns the number of changed rows. The context matters only before it begins: a
// write is not interrupted, and reads are short.
func (c *conn) ExecContext(ctx context.Context, query string, args ...any) (changed int, err error) {
	r, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	for r.Next() {
	}
	if err := errors.Join(r.Err(), r.Close()); err != nil {
		return 0, err
	}
	return c.db.Changes(), nil
}

// QueryContext begins a statement. Its rows have to be closed before anything else is done with them. An error of the first
// row is that of [rows.Err].
func (c *conn) QueryContext(ctx context.Context, query string, args ...any) (*rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.trace != nil {
		c.trace(query)
	}
	s, err := c.find(query)
	if err != nil {
		return nil, err
	}
	s.rows = rows{of: s}
	if err := s.bind(args); err != nil {
		return nil, errors.Join(err, s.rows.Close())
	}
	return &s.rows, nil
}

// QueryRowContext begins a statement, to read at most one row of it.
func (c *conn) QueryRowContext(ctx context.Context, query string, args ...any) row {
	r, err := c.QueryContext(ctx, query, args...)
	return row{r, err}
}

// interruptible runs do, whose statements ctx ends.
func (c *conn) interruptible(ctx context.Context, do func() error) error {
	before := c.db.SetInterrupt(ctx.Done())
	defer c.db.SetInterrupt(before)
	err := do()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return err
}

// find returns the cached statement for query, or a new one: also if the cached one is being read, as in a query within
// the loop over its own rows.
func (c *conn) find(query string) (*statement, error) {
	s := c.known[query]
	if s != nil && !s.busy {
		s.busy = true
		return s, nil
	}
	stmt, rest, err := c.db.PrepareTransient(query)
	if err != nil {
		return nil, bare(err)
	}
	made := &statement{Stmt: stmt, busy: true, order: ordered(stmt)}
	switch {
	case rest > 0:
		return nil, errors.Join(fmt.Errorf("more than one statement: %s", query), stmt.Finalize())
	case s == nil && len(c.known) < remembered:
		made.kept = true
		c.known[query] = made
	}
	return made, nil
}

// reset ends all statements that were left half read, by a panic.
func (c *conn) reset() {
	for _, s := range c.known {
		if s.busy {
			_ = s.rows.Close() // it has no more to say
		}
	}
}

// Close closes the connection. Statements are closed first: SQLite keeps a connection open while it has any.
func (c *conn) Close() (err error) {
	for _, s := range c.known {
		_ = s.Finalize() // its error is that of its last run
	}
	clear(c.known)
	return c.db.Close()
}

// bare returns the error of SQLite without the name of the package that reports it.
func bare(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// row is at most one row.
type row struct {
	*rows
	err error
}

// Scan reads the row, or returns [sql.ErrNoRows].
func (r row) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	err := sql.ErrNoRows
	if r.Next() {
		err = r.rows.Scan(into...)
	}
	if failed := r.rows.Err(); failed != nil {
		err = failed
	}
	return errors.Join(err, r.Close())
}
