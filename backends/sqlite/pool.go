package sqlite

import (
	"context"
	"errors"
)

// pool is a number of connections, which are made when they are needed first and then stay open: one that is closed loses its
// prepared statements and its page cache. It is safe for concurrent use.
type pool struct {
	dial func() (*conn, error)
	free chan *conn // nil for one that isn't made yet
}

func newPool(size int, dial func() (*conn, error)) *pool {
	p := &pool{dial: dial, free: make(chan *conn, size)}
	for range size {
		p.free <- nil
	}
	return p
}

// take returns a connection that nothing else uses until it is put back. It waits for one as long as ctx allows.
func (p *pool) take(ctx context.Context) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case c := <-p.free:
		if c != nil {
			return c, nil
		}
		c, err := p.dial()
		if err != nil {
			p.free <- nil
			return nil, err
		}
		return c, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// put gives a connection back. What was left half read, by a panic, is ended.
func (p *pool) put(c *conn) {
	c.reset()
	p.free <- c
}

// Close closes all connections, which must have been put back.
func (p *pool) Close() error {
	var errs []error
	for range cap(p.free) {
		if c := <-p.free; c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
