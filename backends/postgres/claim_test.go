package postgres

import (
	"errors"
	"parley/internal/require"
	"strings"
	"testing"
	"time"
)

// A second gateway with a memory of its own is refused, and the error names the first one. Several can share the database if all of them have [Options.Several].
func TestSecondGatewayWithOwnMemoryIsRefused(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	for _, c := range []struct {
		first, second bool
		want          string
	}{
		{false, false, "set shared of all to the same redis:// address"},
		{false, true, "set shared of all to the same redis:// address"},
		{true, false, "set shared to the same redis:// address here"},
		{true, true, ""},
	} {
		first := open(t, url, Options{Several: c.first})
		second, err := Open(t.Context(), url, Options{Several: c.second})
		var used *InUseError
		switch {
		case c.want == "" && err != nil:
			t.Error(err)
		case c.want != "" && (!errors.As(err, &used) || !strings.Contains(err.Error(), c.want) || !strings.Contains(used.Holder, "process")):
			t.Errorf("several %v, then %v: %v", c.first, c.second, err)
		}
		if _, waits := Unavailable(err); waits {
			t.Errorf("a gateway would wait for %v", err)
		}
		guest := open(t, url, Options{Guest: true})
		if _, err := guest.People(t.Context()); err != nil {
			t.Errorf("a guest: %v", err)
		}
		for _, s := range []*Store{first, second} {
			if s != nil {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// A gateway whose connection was cut off claims the database again; if another was faster it stores nothing until that ends.
func TestClaimLost(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	s := open(t, url, Options{})
	beat := func() error { return s.RenewLease(t.Context(), "owner", time.Now().Add(time.Minute)) }
	cut := func() {
		require.Value(s.pool.Exec(t.Context(), `SELECT pg_terminate_backend($1, 5000)`, s.claim.conn.PgConn().PID()))(t)
	}
	cut()
	if err := beat(); err != nil {
		t.Errorf("no other gateway claims the database: %v", err)
	}
	if _, err := Open(t.Context(), url, Options{}); err == nil {
		t.Error("a second gateway has opened it")
	}
	cut()
	other := open(t, url, Options{})
	err := beat()
	if _, waits := Unavailable(err); !errors.Is(err, errTaken) || !waits {
		t.Errorf("the database is taken, and the heartbeat says %v", err)
	}
	if err := s.Keep(t.Context(), "a", "b"); !errors.Is(err, errTaken) {
		t.Errorf("it stores beside the other: %v", err)
	}
	require.NoError(t, other.Close())
	// The first write is refused before the claim is looked at, and the server releases the claim a moment after the connection is closed.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if err := beat(); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the other has ended: %v", err)
		}
	}
}
