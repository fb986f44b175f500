package progressive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/require"
	"parley/progressive"
)

// budgets is a table of budgets by name; a name it lacks has the budget of "chat".
func budgets(table map[progressive.Scope]progressive.Budget) func(progressive.Scope) progressive.Budget {
	return func(s progressive.Scope) progressive.Budget {
		if b, ok := table[s]; ok {
			return b
		}
		return table["chat"]
	}
}

// enter waits for a permit, gives it back at once with err, and says how long it waited.
func enter(t *testing.T, g progressive.Gate, p progressive.Priority, err error, scopes ...progressive.Scope) time.Duration {
	t.Helper()
	begun := time.Now()
	leave := require.Value(g.Enter(t.Context(), progressive.Ticket{Scopes: scopes, Priority: p}))(t)
	leave(err)
	return time.Since(begun)
}

func TestGateKeepsTheLastPermitForFinals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 3, Per: 3 * time.Second}, "bot": {N: 30, Per: time.Second}}))
		var waits []time.Duration
		for _, p := range []progressive.Priority{progressive.PriorityFirst, progressive.PriorityStream, progressive.PriorityFinal} {
			waits = append(waits, enter(t, g, p, nil, "chat", "bot"))
		}
		if slices.Max(waits) != 0 {
			t.Errorf("waited %v", waits)
		}
		if w := enter(t, g, progressive.PriorityStream, nil, "chat", "bot"); w != 3*time.Second {
			t.Errorf("the fourth waited %v", w)
		}
	})
}

func TestGateCountsFromLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 1, Per: time.Second}}))
		leave := require.Value(g.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"chat"}}))(t)
		begun := time.Now()
		time.AfterFunc(5*time.Second, func() { leave(errors.New("failures count too")) })
		enter(t, g, progressive.PriorityFinal, progressive.ErrUnused, "chat")
		if w := time.Since(begun); w != 6*time.Second {
			t.Errorf("waited %v", w)
		}
		if w := enter(t, g, progressive.PriorityFinal, nil, "chat"); w != 0 {
			t.Errorf("an unused permit was counted: %v; want none", w)
		}
	})
}

// ST-02, ST-03: a hold closes its scope for everybody, and no other.
func TestGateHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 2, Per: time.Second}, "bot": {N: 30, Per: time.Second}}))
		enter(t, g, progressive.PriorityFirst, nil, "a", "bot")
		enter(t, g, progressive.PriorityFinal, fmt.Errorf("edit: %w", progressive.RetryAfter{Scope: "a", After: 300 * time.Second}), "a", "bot")
		if w := enter(t, g, progressive.PriorityFinal, nil, "b", "bot"); w != 0 {
			t.Errorf("another chat waited %v; want none", w)
		}
		if _, err := g.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"a", "bot"}}); !errors.Is(err, progressive.ErrNoPermit) {
			t.Errorf("a sign got %v", err)
		}
		if w := enter(t, g, progressive.PriorityFinal, nil, "a", "bot"); w != 300*time.Second {
			t.Errorf("the final waited %v", w)
		}
		enter(t, g, progressive.PriorityFinal, nil, "a", "bot")
		if w := enter(t, g, progressive.PriorityFinal, nil, "a", "bot"); w != 2*time.Second {
			t.Errorf("soon after a refusal the window took %v", w)
		}
		time.Sleep(2 * time.Minute)
		enter(t, g, progressive.PriorityFinal, nil, "a", "bot")
		enter(t, g, progressive.PriorityFinal, nil, "a", "bot")
		if w := enter(t, g, progressive.PriorityFinal, nil, "a", "bot"); w != time.Second {
			t.Errorf("later the window took %v; want %v", w, time.Second)
		}
	})
}

// A hold of a scope without tickets applies to later tickets.
func TestGateHoldsAScopeItHasNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 5, Per: time.Second}}))
		enter(t, g, progressive.PriorityFinal, progressive.RetryAfter{Scope: "route", After: time.Minute}, "a")
		if w := enter(t, g, progressive.PriorityFinal, nil, "a", "route"); w != time.Minute {
			t.Errorf("waited %v; want %v", w, time.Minute)
		}
	})
}

func TestGateOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 1, Per: time.Second}}))
		enter(t, g, progressive.PriorityFinal, nil, "chat")
		var mu sync.Mutex
		var got []string
		var all sync.WaitGroup
		now := time.Now()
		for _, w := range []struct {
			name string
			p    progressive.Priority
			age  time.Duration
		}{{"new interim", progressive.PriorityStream, 1}, {"old interim", progressive.PriorityStream, 9}, {"new final", progressive.PriorityFinal, 2}, {"first", progressive.PriorityFirst, 0}, {"old final", progressive.PriorityFinal, 3}} {
			all.Go(func() {
				leave, err := g.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"chat"}, Priority: w.p, UnshownSince: now.Add(-w.age)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				got = append(got, w.name)
				mu.Unlock()
				leave(nil)
			})
			synctest.Wait()
		}
		all.Wait()
		if want := []string{"old final", "new final", "first", "old interim", "new interim"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A sign never waits, never comes before text of its chat, and leaves the next text its permit (ST-15).
func TestGateSigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 3, Per: 60 * time.Second}, "bot": {N: 1, Per: 9 * time.Second}}))
		sign := func() error {
			leave, err := g.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"chat"}})
			if err == nil {
				leave(nil)
			}
			return err
		}
		require.NoError(t, sign())
		if w := enter(t, g, progressive.PriorityFirst, nil, "chat"); w != 0 {
			t.Errorf("text waited %v for a sign; want none", w)
		}
		if err := sign(); !errors.Is(err, progressive.ErrNoPermit) {
			t.Errorf("the permits of text and final: %v", err)
		}
		time.Sleep(2 * time.Minute)
		enter(t, g, progressive.PriorityFinal, nil, "other", "bot")
		ctx, cancel := context.WithCancelCause(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() {
			_, err := g.Enter(ctx, progressive.Ticket{Scopes: []progressive.Scope{"chat", "bot"}, Priority: progressive.PriorityStream})
			if !errors.Is(err, errDone) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		if err := sign(); !errors.Is(err, progressive.ErrNoPermit) {
			t.Errorf("text waits: %v", err)
		}
		cancel(errDone)
		waiting.Wait()
		if err := sign(); err != nil {
			t.Errorf("after the last waiter left: %v", err)
		}
		if err := sign(); !errors.Is(err, progressive.ErrNoPermit) {
			t.Errorf("the next sign came too soon: %v", err)
		}
	})
}

var errDone = errors.New("done")

// A final that waits for the bot does not lose its chat's permit to an edit.
func TestGateFinalIsNotOvertakenInItsChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 1, Per: 10 * time.Second}, "bot": {N: 1, Per: time.Second}}))
		enter(t, g, progressive.PriorityFinal, nil, "other", "bot")
		var all sync.WaitGroup
		all.Go(func() {
			if w := enter(t, g, progressive.PriorityFinal, nil, "chat", "bot"); w != time.Second {
				t.Errorf("the final waited %v; want %v", w, time.Second)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if w := enter(t, g, progressive.PriorityStream, nil, "chat"); w != 11*time.Second {
				t.Errorf("the edit waited %v", w)
			}
		})
		all.Wait()
	})
}

// Where a version without saved budgets left something open, every window is taken for full.
func TestGateBeginsSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := require.Value(progressive.WithWindows(t.Context(), &windows{}, true, slog.New(slog.DiscardHandler)))(t)
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 3, Per: 3 * time.Second}}), began)
		time.Sleep(time.Second)
		if w := enter(t, g, progressive.PriorityFinal, nil, "a"); w != 2*time.Second {
			t.Errorf("waited %v", w)
		}
		if w := enter(t, g, progressive.PriorityFinal, nil, "b"); w != 0 {
			t.Errorf("the window had passed: %v; want none", w)
		}
	})
}

// One waiter each in a thousand chats under one bot. The platform counts each request at a random moment between Enter
// and leave; no window ever holds more than its budget, and finals go first.
func TestGateThousandChatsShareABot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := map[progressive.Scope]progressive.Budget{"chat": {N: 3, Per: 3 * time.Second}, "bot": {N: 30, Per: time.Second}}
		g := progressive.NewGate(budgets(table))
		var mu sync.Mutex
		at := map[progressive.Scope][]time.Time{}
		var finals, interims []time.Duration
		request := func(c int, p progressive.Priority, fresh *time.Time, d time.Duration) {
			s := progressive.Scope(fmt.Sprint("chat", c))
			begun := time.Now()
			leave, err := g.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{s, "bot"}, Priority: p, UnshownSince: *fresh})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			if waited := time.Since(begun); p == progressive.PriorityFinal {
				finals = append(finals, waited)
			} else {
				interims = append(interims, waited)
			}
			mu.Unlock()
			time.Sleep(d / 2)
			mu.Lock()
			at[s], at["bot"] = append(at[s], time.Now()), append(at["bot"], time.Now())
			mu.Unlock()
			time.Sleep(d / 2)
			leave(nil)
			*fresh = time.Now()
		}
		var all sync.WaitGroup
		for c := range 1000 {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(c), 1))
				fresh, end := time.Now(), time.Now().Add(time.Duration(20+r.IntN(60))*time.Second)
				for time.Now().Before(end) {
					request(c, progressive.PriorityStream, &fresh, time.Duration(r.IntN(800))*time.Millisecond)
				}
				request(c, progressive.PriorityFinal, &fresh, 300*time.Millisecond)
			})
		}
		all.Wait()
		for s, times := range at {
			b := budgets(table)(s)
			for i := b.N; i < len(times); i++ {
				if times[i].Sub(times[i-b.N]) < b.Per {
					t.Errorf("%s: %d requests within %v", s, b.N+1, times[i].Sub(times[i-b.N]))
				}
			}
		}
		slices.Sort(finals)
		slices.Sort(interims)
		if len(finals) != 1000 || finals[500] > interims[len(interims)/2] {
			t.Errorf("%d finals waited %v, edits %v (medians)", len(finals), finals[500], interims[len(interims)/2])
		}
	})
}
