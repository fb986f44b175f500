package redis

import (
	"context"
	"net"
	"sync"
	"testing"

	"parley/backends/redis/redistest"
	"parley/internal/require"
)

// deafConn receives nothing after its link is cut, although neither end closes it.
type deafConn struct {
	net.Conn
	cut    <-chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (c *deafConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.cut:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// A listening connection that dies without a word is found out by pings, and replaced (DI-03).
func TestHalfOpen(t *testing.T) {
	s := redistest.Start(t)
	cut := make(chan struct{})
	var mu sync.Mutex
	line := cut
	b := open(t, s.URL(), Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		return &deafConn{Conn: conn, cut: line, closed: make(chan struct{})}, nil
	}})
	frames := require.Value(b.Bus().Subscribe(t.Context(), "room"))(t)
	mu.Lock()
	line = make(chan struct{}) // what is dialled from now on works
	mu.Unlock()
	close(cut)
	hearsAgain(t, open(t, s.URL(), Options{}), frames)
}
