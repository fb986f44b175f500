package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parley/backends/redis/redistest"
	"parley/internal/require"
	"parley/progressive"
	"parley/sim"
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
		leave, err := g.Enter(ctx, progressive.Ticket{Scopes: []progressive.Scope{scope}, Priority: progressive.PriorityFinal})
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
		return notYet(ctx)
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
			for together := false; !together; {
				for _, l := range ledgers {
					counted(t, l, 2, true)
				}
				o.begin(s)
				// A replica that could not announce itself for ten seconds before the outage is not counted in it.
				one, _ := ledgers[0].Replicas()
				two, _ := ledgers[1].Replicas()
				if together = one == 2 && two == 2; !together {
					o.over(s)
				}
			}
			for i, g := range gates {
				if n := permits(t, g, 3, "chat"); n != 2 {
					t.Errorf("replica %d gave %d of 4 permits alone; want 2", i, n)
				}
				counted(t, ledgers[i], 2, false)
			}
			o.over(s)
			for _, l := range ledgers {
				counted(t, l, 2, true)
			}
			if n := permits(t, gates[0], 2, "other") + permits(t, gates[1], 2, "other"); n != 4 {
				t.Errorf("together they gave %d of 4 permits; want 4", n)
			}
		})
	}
}

// A permit held by a dead replica stays spent for longer than a request can take, but not indefinitely; idle scopes are
// forgotten (I10).
func TestGateExpiry(t *testing.T) {
	s := redistest.Start(t)
	l := open(t, s.URL(), Options{Name: "p"}).Ledger()
	c := rawClient(t, s)
	claims := []progressive.Claim{{Scope: "chat", Budget: progressive.Budget{N: 1, Per: 2 * time.Second}}}
	b, err := l.Book(t.Context(), claims)
	if err != nil || b.Wait != 0 {
		t.Fatal(b, err)
	}
	at := c.ZScore(t.Context(), "parley:p:{gate}:log:chat", b.ID).Val()
	now := c.Time(t.Context()).Val()
	if left := time.UnixMilli(int64(at)).Sub(now); left < 20*time.Second || left > lease+time.Second {
		t.Errorf("an unsettled booking counts for %v", left)
	}
	again, err := l.Book(t.Context(), claims)
	if err != nil || again.Wait <= 0 || again.Wait > time.Second {
		t.Errorf("ask again in %v, %v", again.Wait, err)
	}
	require.NoError(t, l.Settle(t.Context(), b, progressive.Settlement{Scope: "chat", After: time.Minute, Refused: true}))
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
	require.NoError(t, err)
	require.NoError(t, one.Settle(t.Context(), b, progressive.Settlement{Scope: "chat", After: time.Millisecond, Refused: true, Slower: true}))
	if b, err = two.Book(t.Context(), claims); err != nil || b.Wait <= 10*time.Second || b.Wait > 21*time.Second {
		t.Errorf("asked to wait %v, %v", b.Wait, err)
	}
}

// I6: what a replica knows to be closed is closed for all, also for one that has just begun: what it knew at its start,
// what it was told while Redis was away, and both again when Redis has forgotten them.
func TestGateHoldsOutliveRedis(t *testing.T) {
	s := redistest.Start(t)
	c := rawClient(t, s)
	one := open(t, s.URL(), Options{}).Ledger()
	reached(t, one, true)
	one.Hold("start", time.Now().Add(time.Hour))
	closed(t, s, "start")
	s.Stop()
	reached(t, one, false)
	one.Hold("away", time.Now().Add(time.Hour))
	one.Hold("away", time.Now().Add(time.Minute)) // the longest counts
	s.Restart()
	reached(t, one, true)
	closed(t, s, "start", "away")
	require.NoError(t, c.FlushAll(t.Context()).Err())
	closed(t, s, "start", "away")
	if ttl := c.PTTL(t.Context(), "parley:{gate}:state:away").Val(); ttl < 59*time.Minute || ttl > time.Hour+2*time.Minute {
		t.Errorf("it is known for %v", ttl)
	}
	one.Hold("over", time.Now().Add(20*time.Millisecond))
	eventually(t, "forget what is over", func(ctx context.Context) error {
		if held := one.held(time.Now()); len(held) == 2 {
			return nil
		}
		return notYet(ctx)
	})
}

// DI-02: a server that has lost its data has no record of what was spent, so each replica goes on with its share, as after an outage, and
// the log says so once. A replica that begins is no sign of that.
func TestGateNoticesThatRedisForgot(t *testing.T) {
	s := redistest.Start(t)
	var log sim.Log
	const replicas = 2
	for range replicas {
		open(t, s.URL(), Options{Log: slog.New(slog.NewTextHandler(&log, nil))}).Ledger()
	}
	c := rawClient(t, s)
	eventually(t, "count the replicas", func(ctx context.Context) error {
		if c.ZCard(ctx, "parley:{gate}:replicas").Val() < replicas {
			return notYet(ctx)
		}
		return nil
	})
	if text := log.String(); strings.Contains(text, "lost") {
		t.Errorf(`before anything was lost, the log says %s; want it without "lost"`, text)
	}
	require.NoError(t, c.FlushAll(t.Context()).Err())
	eventually(t, "share the budgets again", func(ctx context.Context) error {
		if strings.Count(log.String(), "budgets are shared again") < replicas {
			return notYet(ctx)
		}
		return nil
	})
	for _, text := range []string{"budgets are no longer shared", "it has lost its data", "budgets are shared again"} {
		if n := strings.Count(log.String(), text); n != replicas {
			t.Errorf("%d replicas say %d times %q:\n%s", replicas, n, text, log.String())
		}
	}
}

// DI-02: however often Redis forgets what was spent, each replica remembers its own part: all of them together never spend more than one
// budget each.
func TestGateIsBoundedWhileRedisForgets(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	gates := []progressive.Gate{
		progressive.NewSharedGate(open(t, s.URL(), Options{}).Ledger(), fourAnHour), progressive.NewSharedGate(open(t, s.URL(), Options{}).Ledger(), fourAnHour),
	}
	spent := 0
	for range 3 {
		for _, g := range gates {
			spent += permits(t, g, 2, "chat")
		}
		s.Flush()
	}
	if spent < 4 || spent > 4*len(gates) {
		t.Errorf("%d replicas spend %d of 4 permits", len(gates), spent)
	}
}

func reached(t *testing.T, l *Ledger, want bool) {
	t.Helper()
	eventually(t, "notice whether Redis is there", func(ctx context.Context) error {
		if _, ok := l.Replicas(); ok == want {
			return nil
		}
		return notYet(ctx)
	})
}

// notYet has eventually try again in a moment.
func notYet(ctx context.Context) error {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
	return errors.New("not yet")
}

// closed waits until a new replica finds that these scopes are closed for long.
func closed(t *testing.T, s *redistest.Server, scopes ...progressive.Scope) {
	t.Helper()
	l := open(t, s.URL(), Options{}).Ledger()
	for _, scope := range scopes {
		eventually(t, "find that "+string(scope)+" is closed", func(ctx context.Context) error {
			b, err := l.Book(ctx, []progressive.Claim{{Scope: scope}})
			switch {
			case err != nil:
				return err
			case b.Wait < 59*time.Minute || b.Wait > time.Hour+time.Second:
				return fmt.Errorf("closed for %v: %w", b.Wait, notYet(ctx))
			}
			return nil
		})
	}
}
