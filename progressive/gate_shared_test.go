package progressive_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/require"
	"parley/progressive"
)

// ledger is one account in memory, of a scope that has room for finals alone until it opens.
type ledger struct {
	mu      sync.Mutex
	opens   time.Time
	asked   int
	settled []progressive.Settlement
	held    map[progressive.Scope]time.Time
	lost    error
	n       int
}

func (l *ledger) Hold(scope progressive.Scope, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[progressive.Scope]time.Time{}
	}
	l.held[scope] = until
}

func (l *ledger) Book(_ context.Context, claims []progressive.Claim) (progressive.Booking, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	b := progressive.Booking{ID: "b", Claims: claims}
	if l.lost == nil && claims[0].Keep > 0 {
		b.Wait = max(time.Until(l.opens), 0)
	}
	return b, l.lost
}

func (l *ledger) Settle(_ context.Context, _ progressive.Booking, s progressive.Settlement) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = append(l.settled, s)
	return l.lost
}

func (l *ledger) Replicas() (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n, l.lost == nil
}

func (l *ledger) lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = err
}

func sharedGate(l *ledger) *progressive.SharedGate {
	return progressive.NewSharedGate(l, budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 6, Per: time.Minute}}))
}

// An edit that has to wait for what other replicas spent is in no final's way, and asks once when it is time.
func TestSharedGateKeepsTheReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{n: 2, opens: time.Now().Add(20 * time.Second)}
		g := sharedGate(l)
		var all sync.WaitGroup
		all.Go(func() {
			if w := enter(t, g, progressive.PriorityStream, nil, "chat"); w != 20*time.Second {
				t.Errorf("the edit waited %v", w)
			}
		})
		synctest.Wait()
		time.Sleep(time.Second)
		if w := enter(t, g, progressive.PriorityFinal, progressive.RetryAfter{After: 4 * time.Second}, "chat"); w != 0 {
			t.Errorf("the final waited %v; want none", w)
		}
		all.Wait()
		if l.asked != 3 || len(l.settled) != 2 || !l.settled[0].Refused || l.settled[0].Scope != "chat" {
			t.Errorf("asked %d times, settled %+v", l.asked, l.settled)
		}
	})
}

// DI-03: without the ledger a replica takes its share, at least a trickle; for one more minute when it is back.
func TestSharedGateAlone(t *testing.T) {
	for n, per := range map[int]time.Duration{3: 30 * time.Second, 6: time.Minute, 12: 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			l := &ledger{n: n, lost: errDone}
			g := sharedGate(l)
			time.Sleep(time.Hour)
			begun := time.Now()
			for range 13 {
				enter(t, g, progressive.PriorityFinal, nil, "chat")
			}
			if got := time.Since(begun) / 12; got < per-5*time.Second || got > per {
				t.Errorf("one of %d: a permit each %v, want %v", n, got, per)
			}
			l.lose(nil)
			if w := enter(t, g, progressive.PriorityFinal, nil, "chat") + enter(t, g, progressive.PriorityFinal, nil, "chat"); w < time.Minute-5*time.Second {
				t.Errorf("one of %d: as soon as the ledger was back two permits took %v", n, w)
			}
			time.Sleep(10 * time.Minute)
			begun = time.Now()
			for range 6 {
				enter(t, g, progressive.PriorityFinal, nil, "chat")
			}
			if w := time.Since(begun); w != 0 {
				t.Errorf("long after, six of six permits took %v; want none", w)
			}
		})
	}
}

// holds are those of an earlier life.
type holds map[string]time.Time

func (h holds) Holds(context.Context) (map[string]time.Time, error) { return h, nil }

func (h holds) SaveHold(context.Context, string, time.Time) error { return nil }

// I6: what is closed is closed for all replicas: what this one knew at its start, what the platform refused, with the
// ledger or without, and what is empty for long.
func TestSharedGateTellsHolds(t *testing.T) {
	const long = 10 * time.Minute
	for name, c := range map[string]struct {
		lost error
		left error
		held bool
	}{
		"a refusal":                        {nil, progressive.RetryAfter{After: 30 * time.Second}, true},
		"a refusal without the ledger":     {errDone, progressive.RetryAfter{After: 30 * time.Second}, true},
		"a short refusal":                  {nil, progressive.RetryAfter{After: time.Second}, false},
		"nothing left for long":            {nil, progressive.BudgetHint{After: long}, true},
		"nothing left for a moment":        {nil, progressive.BudgetHint{After: time.Second}, false},
		"success":                          {nil, nil, false},
		"another error without the ledger": {errDone, errDone, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &ledger{n: 2, lost: c.lost}
			remembering := require.Value(progressive.WithHoldStore(t.Context(), holds{"old": time.Now().Add(long)}, slog.New(slog.DiscardHandler)))(t)
			g := progressive.NewSharedGate(l, budgets(nil), remembering)
			if until := l.held["old"]; time.Until(until) != long {
				t.Errorf("%s: at the start the ledger is told %v", name, l.held)
			}
			enter(t, g, progressive.PriorityFinal, c.left, "chat")
			if until, ok := l.held["chat"]; ok != c.held || ok && time.Until(until) < 30*time.Second {
				t.Errorf("%s: the ledger is told %v", name, l.held)
			}
		})
	}
}
