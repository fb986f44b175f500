package sqlite

import (
	"context"

	"parley/backends/sqlstore"
)

// What tests ask a database itself, while nothing else uses it.

func (c *conn) Exec(query string, args ...any) (int, error) {
	return c.ExecContext(context.Background(), query, args...)
}

func (c *conn) QueryRow(query string, args ...any) row {
	return c.QueryRowContext(context.Background(), query, args...)
}

func (c *conn) Query(query string, args ...any) (*rows, error) {
	return c.QueryContext(context.Background(), query, args...)
}

// QueryRow asks a connection that is given back with Scan.
func (p *pool) QueryRow(query string, args ...any) pooled {
	c, give := p.take()
	return pooled{c.QueryRow(query, args...), give}
}

// take returns a connection that nothing else uses until it is given back.
func (p *pool) take() (taken *conn, give func()) {
	got, back := make(chan *conn), make(chan struct{})
	go func() {
		if err := p.do(context.Background(), func(c *conn) error { got <- c; <-back; return nil }); err != nil {
			panic(err)
		}
		close(got)
	}()
	return <-got, func() { close(back); <-got }
}

type pooled struct {
	row
	give func()
}

func (p pooled) Scan(into ...any) error {
	defer p.give()
	return p.row.Scan(into...)
}

// inTransaction has the shared methods of a store in the transaction tx, which is under way.
func inTransaction(s *Store, tx *conn) *sqlstore.Store {
	store, _ := sqlstore.New(inside{shared{s.database}, (*sharedConn)(tx)}, dialect)
	return store
}

type inside struct {
	shared
	tx sqlstore.Conn
}

func (i inside) Read(ctx context.Context, do func(context.Context, sqlstore.Conn) error) error {
	return do(ctx, i.tx)
}

func (i inside) Write(ctx context.Context, _ sqlstore.Change, do func(context.Context, sqlstore.Conn) error) error {
	return do(ctx, i.tx)
}
