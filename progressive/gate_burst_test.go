package progressive_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/require"
	"parley/progressive"
)

// crowded has a bot whose budget allows the requests of 50 chats at once.
var crowded = budgets(map[progressive.Scope]progressive.Budget{
	"chat": {N: 5, Per: 5 * time.Second, Reserve: 1}, "bot": {N: 50, Per: time.Second},
})

// ask makes a request in a new chat, and reports how long it waited for its permit.
func ask(t *testing.T, g progressive.Gate, chat any) time.Duration {
	t.Helper()
	return enter(t, g, progressive.PriorityFirst, nil, progressive.Scope(fmt.Sprint("private/new", chat)), "bot")
}

// burst has the platform refuse a request of each of n chats, all in flight together, and lets the chats ask again. It
// returns when all refusals have arrived.
func burst(t *testing.T, g progressive.Gate, n int, said func(i int) error) (again *sync.WaitGroup) {
	t.Helper()
	again = &sync.WaitGroup{}
	for i := range n {
		scopes := []progressive.Scope{progressive.Scope(fmt.Sprint("private/", i)), "bot"}
		leave := require.Value(g.Enter(t.Context(), progressive.Ticket{Scopes: scopes, Priority: progressive.PriorityFinal}))(t)
		again.Go(func() {
			time.Sleep(time.Duration(i+1) * 5 * time.Millisecond) // after all are in flight
			leave(said(i))
			enter(t, g, progressive.PriorityFinal, nil, scopes...)
		})
	}
	time.Sleep(time.Duration(n+1) * 5 * time.Millisecond)
	return again
}

// ST-30: refusals of one moment count once, so that everyone is answered within a second after the platform's wait.
func TestBurstOfRefusalsCountsOnce(t *testing.T) {
	for _, n := range []int{2, 30, 45} {
		for _, wait := range []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 30 * time.Second} {
			for name, said := range map[string]error{"unnamed": refused(wait), "named": progressive.RetryAfter{Scope: "bot", After: wait}} {
				synctest.Test(t, func(t *testing.T) {
					g := progressive.NewGate(crowded)
					begun := time.Now()
					again := burst(t, g, n, func(int) error { return said })
					over := begun.Add(time.Duration(n)*5*time.Millisecond + wait)
					if ask(t, g, "comer"); time.Since(over) > time.Second {
						t.Errorf("%d refusals of %v, %s: another chat was answered %v after them", n, wait, name, time.Since(over))
					}
					if again.Wait(); time.Since(over) > 2*time.Second {
						t.Errorf("%d refusals of %v, %s: the last chat was answered %v after them", n, wait, name, time.Since(over))
					}
					time.Sleep(time.Second)
					for i := range 40 {
						if w := ask(t, g, i); w != 0 {
							t.Fatalf("%d refusals of %v, %s: later request %d waited %v; want none", n, wait, name, i, w)
						}
					}
				})
			}
		}
	}
}

// ST-30: a burst that follows accepted requests teaches the bot and a chat once: the rate that was accepted, and one request per wait.
func TestBurstTeachesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(crowded)
		for i := range 20 {
			ask(t, g, i)
		}
		burst(t, g, 30, func(int) error { return progressive.RetryAfter{Scope: "bot", After: time.Second} }).Wait()
		time.Sleep(5 * time.Second)
		for i := range 21 {
			if w := ask(t, g, i); (w > 0) != (i == 20) {
				t.Errorf("after 20 accepted requests, request %d waited %v", i, w)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(crowded)
		enter(t, g, progressive.PriorityFirst, nil, "private/a", "bot")
		var leave [3]func(error)
		for i := range leave {
			leave[i], _ = g.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"private/a", "bot"}, Priority: progressive.PriorityFinal})
		}
		for i := range leave {
			time.Sleep(100 * time.Millisecond)
			leave[i](refused(time.Second))
		}
		time.Sleep(5 * time.Second)
		for i, w := range permitsOf(t, g, "private/a", 5) {
			if w > 0 != (i > 0) || w > time.Second {
				t.Errorf("permit %d took %v", i, w)
			}
		}
	})
}

// ST-30: a quiet bot learns nothing from one refusal.
func TestQuietBotLearnsNothing(t *testing.T) {
	for _, wait := range []time.Duration{time.Second, 3 * time.Second, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			g := progressive.NewGate(crowded)
			for i := range 4 {
				ask(t, g, i)
			}
			enter(t, g, progressive.PriorityFirst, progressive.RetryAfter{Scope: "bot", After: wait}, "private/a", "bot")
			if w := ask(t, g, "comer"); w != wait {
				t.Errorf("a request waited %v of %v", w, wait)
			}
			for i := range 40 {
				if w := ask(t, g, i); w != 0 {
					t.Fatalf("after %v, request %d waited %v; want none", wait, i, w)
				}
			}
		})
	}
}

// ST-30: a chat that is refused again and again delays no other.
func TestOneRefusedChatDelaysNoOther(t *testing.T) {
	for _, wait := range []time.Duration{time.Second, 3 * time.Second, 40 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			g := progressive.NewGate(crowded)
			for i := range 30 {
				enter(t, g, progressive.PriorityFirst, nil, "private/a", "bot")
				enter(t, g, progressive.PriorityFinal, refused(wait), "private/a", "bot")
				for _, n := range []string{"b", "b", "c", fmt.Sprint(i)} {
					if w := ask(t, g, n); w != 0 {
						t.Fatalf("refusal %d of %v: chat %s waited %v; want none", i, wait, n, w)
					}
				}
			}
		})
	}
}

// ST-30: what three chats have taught their kind is over after five minutes, also if one of them is still refused.
func TestKindLearnsForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(crowded)
		says(time.Second, "private/a", "private/b", "private/c")(t, g)
		begun := time.Now()
		if ask(t, g, 0); ask(t, g, 0) != time.Second {
			t.Error("the gate learned no limit from three chats; want a wait of one second")
		}
		for time.Since(begun) < 5*time.Minute-time.Second {
			says(time.Second, "private/d")(t, g)
			time.Sleep(5 * time.Second)
		}
		time.Sleep(time.Until(begun.Add(5 * time.Minute)))
		for range 4 {
			if w := ask(t, g, 1); w != 0 {
				t.Errorf("after five minutes a permit took %v; want none", w)
			}
		}
	})
}

// ST-30, ST-28: a process that begins after a burst, or in the middle of it, is as soon open again.
func TestRestartAfterABurst(t *testing.T) {
	for _, pause := range []time.Duration{0, 3 * time.Second, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			const wait = 5 * time.Second
			w := &windows{}
			gate := func() *progressive.MemoryGate {
				o := require.Value(progressive.WithWindows(t.Context(), w, false, slog.New(slog.DiscardHandler)))(t)
				return progressive.NewGate(crowded, o)
			}
			g := gate()
			again := burst(t, g, 45, func(int) error { return refused(wait) })
			over := time.Now().Add(wait)
			require.NoError(t, g.Close())
			time.Sleep(pause)
			g = gate()
			ask(t, g, "comer")
			if late := time.Since(over); late > max(0, pause-wait)+time.Second || late < -10*time.Millisecond {
				t.Errorf("after %v, a new process makes a request %v after the wait", pause, late)
			}
			again.Wait()
		})
	}
}
