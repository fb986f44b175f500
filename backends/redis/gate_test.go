package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/backends/redis/redistest"
	"parley/progressive"
)

func fourAnHour(progressive.Scope) progressive.Budget {
	return progressive.Budget{N: 4, Per: time.Hour}
}

// permits is how many g gives at once, up to most.
func permits(t *testing.T, g progressive.Gate, most int, scope progressive.Scope) (n int) {
	t.Helper()
	for ; n < most; n++ {
		// Longer than a ledger takes to find out that the server is silent.
		ctx, cancel := context.WithTimeout(t.Context(), 3*limit)
		leave, err := g.Enter(ctx, progressive.Ticket{Scopes: []progressive.Scope{scope}, Priority: progressive.Final})
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
		leave(nil)
	}
	return n
}

func counted(t *testing.T, l *Ledger, want int, reached bool) {
	t.Helper()
	eventually(t, "count the replicas", func(ctx context.Context) error {
		if n, r := l.Replicas(); n == want && r == reached {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
		return errors.New("not yet")
	})
}

// DI-03: without Redis each of two replicas takes half of a budget, and once it is back they share one again.
func TestGateOutage(t *testing.T) {
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			var ledgers []*Ledger
			var gates []progressive.Gate
			for range 2 {
				l := open(t, s.URL(), Options{}).Ledger()
				ledgers, gates = append(ledgers, l), append(gates, progressive.NewSharedGate(l, fourAnHour))
			}
			for _, l := range ledgers {
				counted(t, l, 2, true)
			}
			o.begin(s)
			for i, g := range gates {
				if n := permits(t, g, 3, "chat"); n != 2 {
					t.Errorf("replica %d gave %d of 4 permits alone", i, n)
				}
				counted(t, ledgers[i], 2, false)
			}
			o.over(s)
			for _, l := range ledgers {
				counted(t, l, 2, true)
			}
			if n := permits(t, gates[0], 2, "other") + permits(t, gates[1], 2, "other"); n != 4 {
				t.Errorf("together they gave %d of 4 permits", n)
			}
		})
	}
}

// A replica that dies with a permit leaves it spent for longer than a request may take, not for ever; what is idle is
// forgotten (I10).
func TestGateExpiry(t *testing.T) {
	s := redistest.Start(t)
	l := open(t, s.URL(), Options{Prefix: "p:"}).Ledger()
	c := rawClient(t, s)
	claims := []progressive.Claim{{Scope: "chat", Budget: progressive.Budget{N: 1, Per: 2 * time.Second}}}
	b, err := l.Book(t.Context(), claims)
	if err != nil || b.Wait != 0 {
		t.Fatal(b, err)
	}
	at := c.ZScore(t.Context(), "p:{gate}:log:chat", b.ID).Val()
	now := c.Time(t.Context()).Val()
	if left := time.UnixMilli(int64(at)).Sub(now); left < 20*time.Second || left > lease+time.Second {
		t.Errorf("a booking that nobody settles counts for %v", left)
	}
	again, err := l.Book(t.Context(), claims)
	if err != nil || again.Wait <= 0 || again.Wait > time.Second {
		t.Errorf("ask again in %v, %v", again.Wait, err)
	}
	if err := l.Settle(t.Context(), b, progressive.Settlement{Scope: "chat", After: time.Minute, Refused: true}); err != nil {
		t.Fatal(err)
	}
	again, err = l.Book(t.Context(), claims)
	if err != nil || again.Wait <= 50*time.Second || again.Wait > time.Minute+time.Second {
		t.Errorf("held for %v, %v", again.Wait, err)
	}
	for _, key := range c.Keys(t.Context(), "*{gate}*").Val() {
		if ttl := c.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > 3*time.Minute {
			t.Errorf("%s lives for %v", key, ttl)
		}
	}
}

// After a refusal a scope goes at half its pace for a minute, on all replicas (ST-02).
func TestGateIsSlowAfterARefusal(t *testing.T) {
	s := redistest.Start(t)
	one, two := open(t, s.URL(), Options{}).Ledger(), open(t, s.URL(), Options{}).Ledger()
	claims := []progressive.Claim{{Scope: "chat", Budget: progressive.Budget{N: 1, Per: 10 * time.Second}}}
	b, err := one.Book(t.Context(), claims)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Settle(t.Context(), b, progressive.Settlement{Scope: "chat", After: time.Millisecond, Refused: true}); err != nil {
		t.Fatal(err)
	}
	if b, err = two.Book(t.Context(), claims); err != nil || b.Wait <= 10*time.Second || b.Wait > 21*time.Second {
		t.Errorf("asked to wait %v, %v", b.Wait, err)
	}
}
