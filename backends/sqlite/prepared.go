package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// remembered is how many statements a connection keeps. The store has fewer; what is beyond is parsed each time.
const remembered = 256

// preparing makes connections that parse no statement twice: to parse one takes longer than most of them take to run.
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

// conn is what the driver's connections can do.
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

// prepared is a connection, which one goroutine uses at a time.
type prepared struct {
	conn
	known map[string]*statement
}

// statement is one that is kept.
type statement struct {
	driver.Stmt
	busy bool // its rows are being read
}

// find returns a statement that is free, or nil if it can't be kept, or is in use further up.
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

// Close implements [driver.Conn].
func (p *prepared) Close() error {
	var errs []error
	for _, s := range p.known {
		errs = append(errs, s.Close())
	}
	clear(p.known)
	return errors.Join(append(errs, p.conn.Close())...)
}

// reading is the rows of a statement that is kept.
type reading struct {
	driver.Rows
	of *statement
}

// Close implements [driver.Rows].
func (r *reading) Close() error {
	r.of.busy = false
	return r.Rows.Close()
}
