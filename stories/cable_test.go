package stories_test

import (
	"context"
	"errors"
	"io"
	"net"
	"parley/internal/require"
	"sync"
	"testing"
)

// cable forwards connections to an address until ctx is done, and then cuts them all. It returns its own address.
func cable(ctx context.Context, t *testing.T, to string) string {
	t.Helper()
	ctx, cut := context.WithCancel(ctx)
	l := require.Value(new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"))(t)
	context.AfterFunc(ctx, func() { _ = l.Close() })
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { forward(ctx, in, to) })
		}
	})
	t.Cleanup(func() {
		cut()
		running.Wait()
	})
	return l.Addr().String()
}

// forward connects in with an address until one of both ends or ctx is done.
func forward(ctx context.Context, in net.Conn, to string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		_ = in.Close()
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = errors.Join(in.Close(), out.Close()) })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { defer cancel(); _, _ = io.Copy(out, in) })
	both.Go(func() { defer cancel(); _, _ = io.Copy(in, out) })
	both.Wait()
}
