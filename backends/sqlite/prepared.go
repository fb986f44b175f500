package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// remembered is the maximum number of statements that a connection keeps prepared. The store has fewer fixed
// statements; only those of variable length (IN lists, several charges) could exceed it, and are then parsed each time.
const remembered = 256

// preparing makes connections that keep their prepared statements. Parsing a statement takes longer than running most
// of the store's statements. [sql.DB] has prepared statements of its own, but they would have to be declared in one
// place and passed to every connection; here the text of the statement is the key, so queries stay where they are used.
type preparing struct {
	driver.Connector
	trace func(statement string)
}

// Connect implements [driver.Connector].
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := c.(conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("unsupported driver connection: %T", c), c.Close())
	}
	all := &prepared{conn: inner, known: map[string]*statement{}}
	if p.trace != nil {
		return traced{all, p.trace}, nil
	}
	return all, nil
}

// conn lists the interfaces that the driver's connections implement and database/sql looks for. A wrapper that hides
// one of them would silently get the slow default, such as two round trips for each statement, so Connect checks for
// all of them.
type conn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// prepared is a connection with its prepared statements, by their text. database/sql guarantees that one goroutine at a
// time uses a connection, so there is no lock.
type prepared struct {
	conn
	known map[string]*statement
}

// statement is a prepared statement that is kept.
type statement struct {
	driver.Stmt
	busy bool // its rows are being read, so running it again would reset them
}

// find returns the prepared statement for query, and prepares it if needed. It returns nil if the statement can't be
// used: it is busy because a query with the same text encloses this one, or the connection keeps as many as it can. The
// caller then runs the query unprepared.
func (p *prepared) find(ctx context.Context, query string) (*statement, error) {
	s := p.known[query]
	switch {
	case s != nil && s.busy, s == nil && len(p.known) == remembered:
		return nil, nil
	case s != nil:
		return s, nil
	}
	made, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s = &statement{Stmt: made}
	p.known[query] = s
	return s, nil
}

// ExecContext implements [driver.ExecerContext].
func (p *prepared) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := p.find(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return p.conn.ExecContext(ctx, query, args)
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext implements [driver.QueryerContext].
func (p *prepared) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := p.find(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return p.conn.QueryContext(ctx, query, args)
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.busy = true
	return &reading{rows, s}, nil
}

// Close implements [driver.Conn]. Statements are closed first: SQLite keeps a connection open while it has any.
func (p *prepared) Close() error {
	var errs []error
	for _, s := range p.known {
		errs = append(errs, s.Close())
	}
	clear(p.known)
	return errors.Join(append(errs, p.conn.Close())...)
}

// reading wraps the rows of a kept statement, to learn when they are closed and the statement is free again.
type reading struct {
	driver.Rows
	of *statement
}

// Close implements [driver.Rows].
func (r *reading) Close() error {
	r.of.busy = false
	return r.Rows.Close()
}
