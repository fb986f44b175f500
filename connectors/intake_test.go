package connectors_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
	"parley/core/chat"
	"parley/internal/subtest"
	"parley/sim"
)

// belt is an intake whose events are named after their key and number, such as a1.
type belt struct {
	*connectors.Intake[byte, int]
	log     sim.Log
	fail    func(id string) error // of a delivery; nil succeeds
	started time.Time

	mu    sync.Mutex
	did   []string // delivered
	tried map[string]int
	count int
}

func newBelt(t *testing.T, o connectors.IntakeOptions) *belt {
	b := &belt{started: time.Now(), tried: map[string]int{}}
	o.Log = slog.New(slog.NewTextHandler(&b.log, nil))
	if o.PerKey == 0 {
		o.PerKey, o.Total = 1000, 1000
	}
	b.Intake = connectors.NewIntake[byte](t.Context(), o, 0)
	t.Cleanup(b.Close)
	return b
}

// put adds events, each at the next position. It reports whether there was room for the last.
func (b *belt) put(ids ...string) (ok bool) {
	for _, id := range ids {
		b.count++
		ok = b.Add(id[0], b.event(id, b.Begin(b.count)))
	}
	return ok
}

func (b *belt) event(id string, t *connectors.Ticket[int]) connectors.Event[int] {
	return connectors.Event[int]{ID: id, Ticket: t, Deliver: func(context.Context) error {
		time.Sleep(time.Second)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.tried[id]++
		if b.fail != nil {
			if err := b.fail(id); err != nil {
				return err
			}
		}
		b.did = append(b.did, id)
		return nil
	}}
}

// failing changes what deliveries of the ids do.
func (b *belt) failing(err error, ids ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = func(id string) error {
		if slices.Contains(ids, id) {
			return err
		}
		return nil
	}
}

func (b *belt) attempts(id string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tried[id]
}

// want wants that the events of each key were delivered in this order, and that so far everything is done.
func (b *belt) want(t *testing.T, reached int, ids ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	got := slices.Clone(b.did)
	slices.SortStableFunc(got, func(a, b string) int { return int(a[0]) - int(b[0]) })
	if !slices.Equal(got, ids) {
		t.Errorf("delivered %q, want %q", got, ids)
	}
	if n := b.Reached(); n != reached {
		t.Errorf("reached %d, want %d", n, reached)
	}
}

var errStore = errors.New("the store is down")

// Events of different keys are delivered at the same time, those of one in order.
func TestIntakeOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, before := newBelt(t, connectors.IntakeOptions{}), runtime.NumGoroutine()
		var want []string
		for key := byte('A'); key < 'A'+50; key++ {
			for n := range 3 {
				want = append(want, fmt.Sprintf("%c%d", key, n))
			}
		}
		for n := range 3 {
			for key := range 50 {
				b.put(want[3*key+n])
			}
		}
		b.Settle(time.Minute)
		if took := time.Since(b.started); took != 3*time.Second {
			t.Errorf("three events in each of 50 chats took %v", took)
		}
		b.want(t, 150, want...)
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > 0 { // those of earlier tests may end meanwhile
			t.Errorf("%d goroutines are left; want none", n)
		}
	})
}

// IN-01: whatever the order in which events are done, the position never passes one that is not.
func TestIntakeReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		luck := rand.New(rand.NewPCG(1, 2))
		b := newBelt(t, connectors.IntakeOptions{})
		var mu sync.Mutex
		done := map[int]bool{}
		check := func() {
			mu.Lock()
			defer mu.Unlock()
			for n := 1; n <= b.Reached(); n++ {
				if !done[n] {
					t.Fatalf("reached %d, but %d is not done", b.Reached(), n)
				}
			}
		}
		for n := 1; n <= 300; n++ {
			took, parts := time.Duration(luck.Int64N(int64(time.Minute))), 1+luck.IntN(2)
			ticket := b.Begin(n)
			for part := range parts {
				last := part == parts-1
				b.Add(byte(luck.IntN(40)), connectors.Event[int]{Ticket: ticket.Hold(), Deliver: func(context.Context) error {
					time.Sleep(took)
					if mu.Lock(); last {
						done[n] = true
					}
					mu.Unlock()
					return nil
				}})
				if !last {
					time.Sleep(time.Minute) // the parts are done in this order
				}
			}
			ticket.Release()
			check()
		}
		for b.Reached() < 300 {
			<-b.Advanced()
			check()
		}
	})
}

// An event that fails is tried again; its key waits, others go on, and the position stays behind it.
func TestIntakeRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBelt(t, connectors.IntakeOptions{GiveUp: 10 * time.Minute})
		b.failing(errStore, "a1")
		b.put("a0", "a1", "b0", "a2", "b1")
		b.Settle(time.Minute)
		if took := time.Since(b.started); took != 2*time.Second {
			t.Errorf("it settled after %v", took)
		}
		b.want(t, 1, "a0", "b0", "b1")
		if n := b.Failing(); n != 1 {
			t.Errorf("%d keys fail; want 1", n)
		}
		time.Sleep(time.Minute)
		if n := b.attempts("a1"); n < 6 || n > 10 {
			t.Errorf("%d attempts in a minute; want at least 6 and at most 10", n)
		}
		b.failing(nil)
		time.Sleep(15 * time.Second)
		b.want(t, 5, "a0", "a1", "a2", "b0", "b1")
		if b.Failing() != 0 {
			t.Error("a key still fails")
		}
		b.put("a3")
		began := time.Now()
		b.Settle(time.Minute)
		if took := time.Since(began); took != time.Second {
			t.Errorf("later it settled after %v; want %v", took, time.Second)
		}
		b.want(t, 6, "a0", "a1", "a2", "a3", "b0", "b1")
	})
}

// Settle returns after its time limit, although an event is still being delivered.
func TestIntakeSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBelt(t, connectors.IntakeOptions{})
		b.put("a0", "a1", "a2")
		b.Settle(1500 * time.Millisecond)
		if took := time.Since(b.started); took != 1500*time.Millisecond {
			t.Errorf("it waited for %v", took)
		}
	})
}

// IN-11: what can never be delivered is dropped, and its key goes on; an outage drops nothing.
func TestIntakeDrops(t *testing.T) {
	for name, c := range map[string]struct {
		fail    func(string) error
		after   time.Duration
		dropped bool
	}{
		"too large":     {func(string) error { return fmt.Errorf("it is %w", chat.ErrTooLarge) }, 2 * time.Second, true},
		"panics":        {func(string) error { panic("poison") }, 10 * time.Second, true},
		"fails alone":   {func(string) error { return errStore }, 11 * time.Minute, true},
		"not so long":   {func(string) error { return errStore }, 9 * time.Minute, false},
		"panics seldom": {func(string) error { panic("poison") }, 2 * time.Second, false},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			b := newBelt(t, connectors.IntakeOptions{GiveUp: 10 * time.Minute})
			b.fail = func(id string) error {
				if id == "a0" {
					return c.fail(id)
				}
				return nil
			}
			b.put("a0")
			time.Sleep(time.Second)
			b.put("b0", "a1")
			time.Sleep(c.after)
			if c.dropped {
				b.want(t, 3, "a1", "b0")
			} else {
				b.want(t, 0, "b0")
			}
			if strings.Contains(b.log.String(), "is dropped") != c.dropped {
				t.Error(b.log.String())
			}
		}))
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBelt(t, connectors.IntakeOptions{GiveUp: 10 * time.Minute})
		b.failing(errStore, "a0", "b0")
		b.put("a0", "b0")
		time.Sleep(time.Hour)
		b.failing(nil)
		time.Sleep(15 * time.Second)
		b.want(t, 2, "a0", "b0")
	})
}

func TestIntakeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBelt(t, connectors.IntakeOptions{PerKey: 2, Total: 4})
		b.put("a0")
		synctest.Wait() // it is being delivered, which is not waiting
		for _, c := range []struct {
			id string
			ok bool
		}{{"a1", true}, {"a2", true}, {"a3", false}, {"b0", true}, {"c0", true}, {"d0", false}} {
			if ok := b.put(c.id); ok != c.ok {
				t.Errorf("%s: room is %t; want %t", c.id, ok, c.ok)
			}
		}
		b.Settle(time.Minute)
		b.want(t, 3, "a0", "a1", "a2", "b0", "c0")
		if !b.put("d1") {
			t.Error("the intake is full after all events are done; want room for one more")
		}
	})
}

// Rearrange puts events ahead of those that wait, also from within a delivery.
func TestIntakeRearrange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBelt(t, connectors.IntakeOptions{})
		ticket := b.Begin(1)
		b.count = 1
		b.Add('a', connectors.Event[int]{Ticket: ticket, Deliver: func(context.Context) error {
			b.Rearrange('a', func(waiting []connectors.Event[int]) []connectors.Event[int] {
				return slices.Insert(waiting, 0, b.event("a1", nil), b.event("a2", ticket.Hold()))
			})
			return nil
		}})
		b.put("a3")
		time.Sleep(1500 * time.Millisecond)
		b.want(t, 0, "a1")
		b.Settle(time.Minute)
		b.want(t, 2, "a1", "a2", "a3")
	})
}

// Close gives each waiting event a chance, but none overtakes one that failed, and what is not done is not confirmed.
func TestIntakeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBelt(t, connectors.IntakeOptions{})
		b.failing(errStore, "a1", "c0")
		b.put("b0", "a0", "c0", "a1", "b1", "a2")
		time.Sleep(3500 * time.Millisecond) // two are in a back-off
		b.put("d0")
		b.failing(errStore, "a1")
		began := time.Now()
		b.Close()
		if took := time.Since(began); took != 1500*time.Millisecond { // a1 is being delivered, and then once more
			t.Errorf("it took %v", took)
		}
		b.want(t, 3, "a0", "b0", "b1", "c0", "d0")
		if !b.put("a3", "e0") {
			t.Error("the intake is full after Close; want room for more")
		}
		time.Sleep(time.Minute)
		b.want(t, 3, "a0", "b0", "b1", "c0", "d0")
		if b.attempts("a2") != 0 {
			t.Error("an event overtook one that failed")
		}
	})
}
