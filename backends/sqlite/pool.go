package sqlite

import (
	"context"
	"errors"
	"sync"

	"parley/internal/contain"
)

// pool is a number of read connections. Each is made when it is needed first and then stays open: one that is closed loses its
// prepared statements and its page cache. A pool is safe for concurrent use.
//
// Each connection is used on a goroutine of its own, because SQLite needs a stack of 16 KB or more: there it grows once, and not on each
// goroutine that reads, where the collector would also scan it, shrink it, and let it grow again.
type pool struct {
	free    chan *reader
	running sync.WaitGroup
}

// reader is a goroutine with its connection. One caller at a time takes it from the pool.
type reader struct {
	work chan func(*conn) error // closed at the end
	done chan error             // the result of each
	last chan error             // of closing the connection
}

func newPool(size int, dial func() (*conn, error)) *pool {
	p := &pool{free: make(chan *reader, size)}
	for range size {
		r := &reader{work: make(chan func(*conn) error), done: make(chan error), last: make(chan error, 1)}
		p.running.Go(func() { r.serve(dial) })
		p.free <- r
	}
	return p
}

// do calls f with a connection that nothing else uses meanwhile. It waits for one as long as ctx allows. A panic of f is its error.
func (p *pool) do(ctx context.Context, f func(*conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case r := <-p.free:
		r.work <- f
		err := <-r.done
		p.free <- r
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close closes all connections. Nothing may use the pool any more.
func (p *pool) Close() error {
	var errs []error
	for range cap(p.free) {
		r := <-p.free
		close(r.work)
		errs = append(errs, <-r.last)
	}
	p.running.Wait()
	return errors.Join(errs...)
}

func (r *reader) serve(dial func() (*conn, error)) {
	var c *conn
	for f := range r.work {
		var err error
		if c == nil {
			c, err = dial()
		}
		if err == nil {
			err = c.read(f)
		}
		r.done <- err
	}
	if c == nil {
		r.last <- nil
		return
	}
	r.last <- c.Close()
}

// read calls f. It ends statements that f leaves half read, by a panic.
func (c *conn) read(f func(*conn) error) (err error) {
	returned := false
	defer func() {
		if !returned {
			c.reset()
		}
	}()
	defer contain.Recover(&err, "a read")
	err = f(c)
	returned = true
	return err
}
