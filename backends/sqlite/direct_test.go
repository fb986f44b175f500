package sqlite

import "context"

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

// QueryRow asks a connection that is put back with Scan.
func (p *pool) QueryRow(query string, args ...any) pooled {
	c, err := p.take(context.Background())
	if err != nil {
		return pooled{row: row{err: err}}
	}
	return pooled{p, c, c.QueryRow(query, args...)}
}

type pooled struct {
	of *pool
	by *conn
	row
}

func (p pooled) Scan(into ...any) error {
	if p.of != nil {
		defer p.of.put(p.by)
	}
	return p.row.Scan(into...)
}
