package redistest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/require"
)

// Slow is a server that is reached over a connection whose replies are late. It forwards everything, in order.
type Slow struct {
	*Server
	addr  string
	delay atomic.Int64 // of each reply, in nanoseconds
}

// pending is how many pieces of replies a connection holds back. More of them wait in the server.
const pending = 1024

// StartSlow starts a server, and a proxy in front of it, until the end of the test. The proxy delays nothing until [Slow.Delay] is called.
func StartSlow(t testing.TB, args ...string) *Slow {
	t.Helper()
	s := &Slow{Server: Start(t, args...)}
	l := require.Value(new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"))(t)
	s.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.forward(ctx, client) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		running.Wait()
	})
	return s
}

// URL returns the address of the proxy for [parley/backends/redis.Open].
func (s *Slow) URL() string { return "redis://" + s.addr }

// Delay makes each reply that arrives from now on late by d. Replies that are held back already keep their delay.
func (s *Slow) Delay(d time.Duration) { s.delay.Store(int64(d)) }

// forward connects a client to the server until one of them closes the connection or ctx is done.
func (s *Slow) forward(ctx context.Context, client net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		_ = client.Close()
		return
	}
	unhook := context.AfterFunc(ctx, func() { _ = client.Close(); _ = server.Close() })
	defer unhook()
	replies := make(chan reply, pending)
	var running sync.WaitGroup
	running.Go(func() { defer cancel(); s.requests(client, server) })
	running.Go(func() { defer close(replies); s.replies(ctx, server, replies) })
	running.Go(func() { defer cancel(); deliver(ctx, client, replies) })
	running.Wait()
}

// reply is a piece of what the server sent, and when the client gets it.
type reply struct {
	data []byte
	at   time.Time
}

// requests copies what the client sends, without delay.
func (s *Slow) requests(client, server net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// replies reads what the server sends.
func (s *Slow) replies(ctx context.Context, server net.Conn, to chan<- reply) {
	for {
		buffer := make([]byte, 16<<10)
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		select {
		case to <- reply{buffer[:n], time.Now().Add(time.Duration(s.delay.Load()))}:
		case <-ctx.Done():
			return
		}
	}
}

// deliver writes replies to the client when their time has come.
func deliver(ctx context.Context, client net.Conn, from <-chan reply) {
	for r := range from {
		select {
		case <-time.After(time.Until(r.at)):
		case <-ctx.Done():
			return
		}
		if _, err := client.Write(r.data); err != nil {
			return
		}
	}
}
