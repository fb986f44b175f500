package redis

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"parley/backends/redis/redistest"
	"parley/internal/require"
	"parley/progressive"
)

// A booking that is sent again has the outcome of the first time, and counts once: in the log of each scope, and in what the
// platform said is left.
func TestRepeatedBookingCountsOnce(t *testing.T) {
	s := redistest.Start(t)
	l, c := open(t, s.URL(), Options{}).Ledger(), rawClient(t, s)
	for name, budget := range map[string]progressive.Budget{"one a minute": {N: 1, Per: time.Minute}, "nine a minute": {N: 9, Per: time.Minute}, "without a limit": {}} {
		t.Run(name, func(t *testing.T) {
			scope := progressive.Scope("chat " + name)
			keys := slices.Concat(l.at.scopeKeys(scope), l.at.scopeKeys(scope+", the bot"))
			leftIs(t, l, scope, 3)
			var args []any
			for range 2 {
				args = append(args, budget.N, millis(budget.Per), 0, "0", false)
			}
			for range 3 {
				reply, err := bookScript.Run(t.Context(), c, keys, append([]any{"one", lease.Milliseconds()}, args...)...).Int64Slice()
				if err != nil || !slices.Equal(reply, []int64{0, 0}) {
					t.Fatalf("the booking has the outcome %v, %v", reply, err)
				}
			}
			for _, key := range []string{keys[0], keys[2]} {
				if n := c.ZCard(t.Context(), key).Val(); n != 1 {
					t.Errorf("%s has %d bookings; want 1", key, n)
				}
			}
			if left := c.HGet(t.Context(), keys[1], "left").Val(); left != "2" {
				t.Errorf(`of 3 requests %s are left; want "2"`, left)
			}
			unused := progressive.Booking{ID: "one", Claims: []progressive.Claim{{Scope: scope}, {Scope: scope + ", the bot"}}}
			for range 3 {
				require.NoError(t, l.Settle(t.Context(), unused, progressive.Settlement{Unused: true}))
			}
			if left := c.HGet(t.Context(), keys[1], "left").Val(); left != "3" || c.Exists(t.Context(), keys[0], keys[2]).Val() != 0 {
				t.Errorf("after the booking was given back, %s of 3 requests are left", left)
			}
		})
	}
}

// leftIs has the platform say how many requests it accepts in a scope.
func leftIs(t *testing.T, l *Ledger, scope progressive.Scope, n int) {
	t.Helper()
	require.NoError(t, l.Settle(t.Context(), progressive.Booking{ID: "before"}, progressive.Settlement{Scope: scope, Left: n, After: time.Hour}))
}

// lossyConn loses the first reply to a booking: the server has run the script, and the client doesn't know.
type lossyConn struct {
	net.Conn
	armed *atomic.Bool // by the test
	lost  atomic.Bool
}

func (c *lossyConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("evalsha")) && bytes.Contains(p, []byte(":log:chat")) && c.armed.CompareAndSwap(true, false) {
		c.lost.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *lossyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lost.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

// The client repeats a booking whose reply was lost. It has its permit at once, and gives it back once.
func TestLostReplyToABookingHoldsNoPermit(t *testing.T) {
	s := redistest.Start(t)
	var armed atomic.Bool
	l := open(t, s.URL(), Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &lossyConn{Conn: conn, armed: &armed}, err
	}}).Ledger()
	counted(t, l, 1, true)
	claims := []progressive.Claim{{Scope: "chat", Budget: progressive.Budget{N: 1, Per: time.Minute}}}
	first, err := l.Book(t.Context(), claims) // so that the server knows the script
	if err != nil || first.Wait != 0 {
		t.Fatal(first, err)
	}
	require.NoError(t, l.Settle(t.Context(), first, progressive.Settlement{Unused: true}))
	armed.Store(true)
	b, err := l.Book(t.Context(), claims)
	if err != nil || armed.Load() {
		t.Fatalf("the booking failed (%v), or no reply was lost (%v)", err, armed.Load())
	}
	if b.Wait != 0 {
		t.Fatalf("the booking found its own permit in use, and is to wait %v; want none", b.Wait)
	}
	require.NoError(t, l.Settle(t.Context(), b, progressive.Settlement{Unused: true}))
	if b, err = l.Book(t.Context(), claims); err != nil || b.Wait != 0 {
		t.Errorf("the permit that was given back is not free: %+v, %v", b, err)
	}
}
