package progressive

import (
	"context"
	"errors"
	"fmt"
	"parley/internal/require"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func remembered(g *MemoryGate) (scopes, wakes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.scopes), len(g.wakeQueue)
}

// I10
func TestGateForgetsIdleScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(func(Scope) Budget { return Budget{N: 2, Per: time.Second} })
		for i := range 1000 {
			leave := require.Value(g.Enter(t.Context(), Ticket{Scopes: []Scope{Scope(fmt.Sprint("chat/", i))}, Priority: PriorityFinal}))(t)
			var slow error
			if i == 0 {
				slow = RetryAfter{Scope: "chat/0", After: time.Hour}
			}
			leave(slow)
			leave(slow) // once is enough
		}
		time.Sleep(3 * time.Second)
		if n, _ := remembered(g); n != 1 {
			t.Errorf("%d scopes are remembered, want the one that is held", n)
		}
		time.Sleep(2 * time.Hour)
		if scopes, wakes := remembered(g); scopes+wakes != 0 {
			t.Errorf("%d scopes, %d wakes", scopes, wakes)
		}
	})
}

// I10: a refusal can close a scope that its ticket did not name. That one is forgotten too.
func TestGateForgetsScopesOfReplies(t *testing.T) {
	for name, said := range map[string]error{
		"a refusal": RetryAfter{Scope: "route", After: time.Minute}, "a hint": BudgetHint{Scope: "route", Left: 1, After: time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := NewGate(func(Scope) Budget { return Budget{N: 2, Per: time.Second} })
			leave := require.Value(g.Enter(t.Context(), Ticket{Scopes: []Scope{"chat"}, Priority: PriorityFinal}))(t)
			leave(said)
			if n, _ := remembered(g); n != 2 {
				t.Errorf("%s: %d scopes are remembered, want the chat and the route", name, n)
			}
			time.Sleep(time.Hour)
			if scopes, wakes := remembered(g); scopes+wakes != 0 {
				t.Errorf("%s: %d scopes, %d wakes after an hour", name, scopes, wakes)
			}
		})
	}
}

// I10: what chats have learned is forgotten, too.
func TestGateForgetsLessons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(func(Scope) Budget { return Budget{N: 2, Per: time.Second} })
		for i := range 5 {
			for _, said := range []error{nil, RetryAfter{After: time.Second}} {
				leave := require.Value(g.Enter(t.Context(), Ticket{Scopes: []Scope{Scope(fmt.Sprint("chat/", i)), "bot"}, Priority: PriorityFinal}))(t)
				leave(said)
			}
			time.Sleep(5 * time.Second)
		}
		if n, _ := remembered(g); n != 6 {
			t.Errorf("%d scopes are remembered, want five chats and their kind", n)
		}
		time.Sleep(time.Hour)
		if scopes, wakes := remembered(g); scopes+wakes != 0 {
			t.Errorf("%d scopes, %d wakes after an hour", scopes, wakes)
		}
	})
}

// Canceled waiters leave nothing behind, and unblock those who waited for them.
func TestGateGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(func(s Scope) Budget {
			if s == "bot" {
				return Budget{N: 1, Per: time.Hour}
			}
			return Budget{}
		})
		leave := require.Value(g.Enter(t.Context(), Ticket{Scopes: []Scope{"bot"}, Priority: PriorityFinal}))(t)
		leave(nil)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := g.Enter(ctx, Ticket{Scopes: []Scope{"chat", "bot"}, Priority: PriorityFinal}); !errors.Is(err, gone) {
				t.Error(err)
			}
		})
		synctest.Wait()
		all.Go(func() { // stopped by the final that waits in its chat
			leave, err := g.Enter(t.Context(), Ticket{Scopes: []Scope{"chat"}, Priority: PriorityStream})
			if err != nil || time.Since(begun) != time.Minute {
				t.Errorf("%v after %v", err, time.Since(begun))
				return
			}
			leave(nil)
		})
		synctest.Wait()
		time.Sleep(time.Minute)
		cancel(gone)
		all.Wait()
		if _, err := g.Enter(ctx, Ticket{Scopes: []Scope{"chat"}}); !errors.Is(err, gone) {
			t.Errorf("a context that is done: %v", err)
		}
		time.Sleep(2 * time.Hour)
		if n, _ := remembered(g); n != 0 {
			t.Errorf("%d scopes; want none", n)
		}
	})
}

func BenchmarkGateThousandWaiters(b *testing.B) {
	g := NewGate(func(s Scope) Budget {
		if s == "bot" {
			return Budget{N: 1, Per: time.Nanosecond}
		}
		return Budget{N: 3, Per: time.Nanosecond}
	})
	var all sync.WaitGroup
	per := b.N/1000 + 1
	b.ResetTimer()
	for i := range 1000 {
		all.Go(func() {
			t := Ticket{Scopes: []Scope{Scope(fmt.Sprint(i)), "bot"}, Priority: PriorityStream}
			for range per {
				t.UnshownSince = time.Now()
				leave, err := g.Enter(b.Context(), t)
				if err != nil {
					b.Error(err)
					return
				}
				leave(nil)
			}
		})
	}
	all.Wait()
}
