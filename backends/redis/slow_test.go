package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/backends/redis/redistest"
	"parley/core/chat"
	"parley/core/relay"
)

// hold claims a turn, whether or not Redis answers in time.
func hold(t *testing.T, b *Backend, room chat.RoomID, id chat.ResponseID) context.Context {
	t.Helper()
	ctx, err := b.Tracker().Claim(t.Context(), "ada", room, id)
	if ctx == nil {
		t.Fatalf("claim %d: %v", id, err)
	}
	return ctx
}

// reachable waits until all backends report that Redis can be reached, or that it can't.
func reachable(t *testing.T, want bool, all ...*Backend) {
	t.Helper()
	for i, b := range all {
		eventually(t, "the state of Redis is reported", func(context.Context) error {
			if b.Unreachable() == want {
				time.Sleep(10 * time.Millisecond)
				return fmt.Errorf("replica %d reports reachable %v", i, !want)
			}
			return nil
		})
	}
}

// subscribed returns the frames of a room as soon as Redis has confirmed the subscription.
func subscribed(t *testing.T, b *Backend, room chat.RoomID) (frames <-chan relay.Frame) {
	t.Helper()
	eventually(t, "subscribe", func(context.Context) (err error) {
		frames, err = b.Bus().Subscribe(t.Context(), room)
		return err
	})
	return frames
}

// Replies that take 300 ms are no outage: replicas see each other's turns, stops and frames.
func TestSlowServerIsUsed(t *testing.T) {
	t.Parallel()
	s := redistest.StartSlow(t)
	s.Delay(300 * time.Millisecond)
	a, b := open(t, s.URL(), Options{}), open(t, s.URL(), Options{})
	a.Ledger()
	frames := subscribed(t, b, "room")
	before := hold(t, a, "room", 1)
	hold(t, b, "room", 2)
	cancelled(t, before, chat.ErrSuperseded)
	_ = b.Tracker().Stop(t.Context(), "ada", "other", 4) // if it is too late, it is repeated
	eventually(t, "the stop is seen", func(ctx context.Context) error {
		if err := a.Tracker().Settle(ctx, "ada", "other", 3); !errors.Is(err, chat.ErrStopped) {
			return fmt.Errorf("not yet: %w", err)
		}
		return nil
	})
	hearsAgain(t, a, frames)
	reachable(t, true, a, b)
}

// DI-03: a server whose replies take longer than the timeouts counts as away, also while the listening connection still gets its
// pings. Claims are decided by each replica until it is faster again.
func TestTooSlowServer(t *testing.T) {
	for _, delay := range []time.Duration{700 * time.Millisecond, 3 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			s := redistest.StartSlow(t)
			a, b := open(t, s.URL(), Options{}), open(t, s.URL(), Options{})
			reachable(t, true, a, b)
			frames := subscribed(t, b, "room")
			before := hold(t, a, "room", 1)
			s.Delay(delay)
			heldA := degraded(t, a, "room", 2)
			cancelled(t, before, chat.ErrSuperseded)
			heldB := degraded(t, b, "room", 3)
			reachable(t, false, a, b)

			s.Delay(0)
			cancelled(t, heldA, chat.ErrSuperseded)
			reachable(t, true, a, b)
			if heldB.Err() != nil {
				t.Errorf("the latest was cancelled: %v", context.Cause(heldB))
			}
			hearsAgain(t, a, frames)
			hold(t, a, "room", 4)
			cancelled(t, heldB, chat.ErrSuperseded)
		})
	}
}

// An outage ends when Redis answers, not when nothing is left to check.
func TestOutageWithNothingToCheck(t *testing.T) {
	t.Parallel()
	s := redistest.StartSlow(t)
	b := open(t, s.URL(), Options{})
	reachable(t, true, b)
	ctx, done := context.WithCancel(t.Context())
	if held, err := b.Tracker().Claim(ctx, "ada", "room", 1); held == nil {
		t.Fatal(err)
	}
	eventually(t, "Redis has the claim", func(context.Context) error {
		b.tracker.mu.Lock()
		defer b.tracker.mu.Unlock()
		if len(b.tracker.unsent) > 0 {
			return errors.New("it is owed")
		}
		return nil
	})
	s.Delay(700 * time.Millisecond) // the listening connection stays
	reachable(t, false, b)
	done()
	eventually(t, "the claim ends", func(context.Context) error {
		if n := len(b.tracker.due()); n > 0 {
			return fmt.Errorf("%d are due", n)
		}
		return nil
	})
	for range 3 { // when the third is accepted, a check that began after the first has ended
		b.tracker.check <- struct{}{}
	}
	if !b.Unreachable() {
		t.Error("the outage has ended, although nothing was answered")
	}
	s.Delay(0)
	reachable(t, true, b)
}
