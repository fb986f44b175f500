package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/backends/redis/redistest"
	"parley/core/chat"
	"parley/core/relay"
	"parley/internal/require"
)

const patience = time.Minute

// within fails the test if a call takes much longer than [limit], which would block a caller in a hurry.
func within(t *testing.T, what string, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * limit):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

func cancelled(t *testing.T, ctx context.Context, want error) {
	t.Helper()
	select {
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), want) {
			t.Errorf("cancelled because %v, want %v", context.Cause(ctx), want)
		}
	case <-time.After(patience):
		t.Fatalf("not cancelled; want %v", want)
	}
}

func claim(t *testing.T, b *Backend, room chat.RoomID, id chat.ResponseID) context.Context {
	t.Helper()
	ctx := require.Value(b.Tracker().Claim(t.Context(), "ada", room, id))(t)
	return ctx
}

// degraded claims while Redis is out of reach.
func degraded(t *testing.T, b *Backend, room chat.RoomID, id chat.ResponseID) context.Context {
	t.Helper()
	var ctx context.Context
	err := within(t, "claim", func() (err error) {
		ctx, err = b.Tracker().Claim(t.Context(), "ada", room, id)
		return err
	})
	if err == nil || errors.Is(err, chat.ErrSuperseded) || errors.Is(err, chat.ErrStopped) || ctx == nil {
		t.Fatalf("claim %d without Redis: %v, %v; want a context and an error that says why", id, ctx, err)
	}
	return ctx
}

func eventually(t *testing.T, what string, try func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// outages are the two ways in which a server goes out of reach: refusing, and silent.
var outages = []struct {
	name        string
	begin, over func(*redistest.Server)
}{
	{"killed", (*redistest.Server).Stop, (*redistest.Server).Restart},
	{"silent", (*redistest.Server).Pause, (*redistest.Server).Resume},
}

// TestReplicasAreAloneWithoutRedis is DI-03: while Redis is away replicas are on their own, and when it is back they are together again.
func TestReplicasAreAloneWithoutRedis(t *testing.T) {
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			s := redistest.Start(t)
			a, b := open(t, s.URL(), Options{}), open(t, s.URL(), Options{})
			before := claim(t, a, "room", 1)
			old := claim(t, a, "other", 4)
			frames := require.Value(b.Bus().Subscribe(t.Context(), "room"))(t)

			o.begin(s)
			heldA := degraded(t, a, "room", 2)
			cancelled(t, before, chat.ErrSuperseded) // this replica arbitrates between its own
			heldB := degraded(t, b, "room", 3)
			if heldA.Err() != nil {
				t.Error("a claim elsewhere was heard of without Redis")
			}
			announced, done := context.WithCancel(t.Context())
			_ = within(t, "announce", func() error {
				_, err := b.Tracker().Claim(announced, "ada", "other", 5) // unclaimed by now
				return err
			})
			done()
			for what, call := range map[string]func() error{
				"settle":    func() error { return b.Tracker().Settle(t.Context(), "ada", "room", 3) },
				"stop":      func() error { return b.Tracker().Stop(t.Context(), "ada", "third", 9) },
				"publish":   func() error { return b.Bus().Publish(t.Context(), "room", relay.Frame{}) },
				"ping":      func() error { return b.Ping(t.Context()) },
				"subscribe": func() error { _, err := b.Bus().Subscribe(t.Context(), "fourth"); return err },
			} {
				if err := within(t, what, call); err == nil || errors.Is(err, chat.ErrStopped) || errors.Is(err, chat.ErrSuperseded) {
					t.Errorf("%s without Redis: %v", what, err)
				}
			}
			if err := a.Tracker().Settle(t.Context(), "ada", "room", 1); !errors.Is(err, chat.ErrSuperseded) {
				t.Errorf("what is known here needs no Redis: %v", err)
			}

			o.over(s)
			cancelled(t, heldA, chat.ErrSuperseded) // the older claim loses when both are told
			cancelled(t, old, chat.ErrSuperseded)   // and an announcement is not lost
			eventually(t, "settle", func(ctx context.Context) error { return a.Tracker().Settle(ctx, "ada", "room", 3) })
			if heldB.Err() != nil {
				t.Errorf("the latest was cancelled: %v", context.Cause(heldB))
			}
			eventually(t, "the stop is told", func(ctx context.Context) error {
				if err := a.Tracker().Settle(ctx, "ada", "third", 9); !errors.Is(err, chat.ErrStopped) {
					return fmt.Errorf("not yet: %w", err)
				}
				return nil
			})
			hearsAgain(t, a, frames)
			last := claim(t, a, "room", 4)
			cancelled(t, heldB, chat.ErrSuperseded)
			if last.Err() != nil {
				t.Error("the newest claim was cancelled")
			}
		})
	}
}

// hearsAgain publishes until it is heard: what was published before the reader is back is lost, as a bus may.
func hearsAgain(t *testing.T, from *Backend, frames <-chan relay.Frame) {
	t.Helper()
	eventually(t, "the reader hears again", func(ctx context.Context) error {
		if err := from.Bus().Publish(ctx, "room", relay.Frame{Run: "again"}); err != nil {
			return err
		}
		select {
		case f, ok := <-frames:
			if !ok {
				t.Fatal("the subscription was closed; want it to survive the outage")
			}
			if f.Run != "again" {
				return fmt.Errorf("heard %v", f)
			}
			return nil
		case <-time.After(50 * time.Millisecond):
			return errors.New("silence")
		}
	})
}

// A server that comes back empty knows nothing of 7. The replica that holds it gives it back, and a late turn is
// refused (DI-02).
func TestForgottenMarksAreGivenBack(t *testing.T) {
	s := redistest.Start(t)
	a, b := open(t, s.URL(), Options{}), open(t, s.URL(), Options{})
	held := claim(t, a, "room", 7)
	require.NoError(t, rawClient(t, s).FlushAll(t.Context()).Err())
	late, err := b.Tracker().Claim(t.Context(), "ada", "room", 6)
	if err == nil {
		cancelled(t, late, chat.ErrSuperseded) // it got in, and is found out
	} else if !errors.Is(err, chat.ErrSuperseded) {
		t.Fatal(err)
	}
	if held.Err() != nil {
		t.Errorf("the latest turn was cancelled: %v", context.Cause(held))
	}
}

// TestLostAnnouncement is DI-04: the marks rise without an announcement.
func TestLostAnnouncement(t *testing.T) {
	s := redistest.Start(t)
	b := open(t, s.URL(), Options{})
	c := rawClient(t, s)
	for room, raise := range map[chat.RoomID]struct {
		field string
		want  error
	}{"one": {"latest", chat.ErrSuperseded}, "two": {"stopped", chat.ErrStopped}} {
		held := claim(t, b, room, 9)
		require.NoError(t, c.HSet(t.Context(), b.tracker.at.marksKey(place{"ada", room}), raise.field, "10").Err())
		cancelled(t, held, raise.want)
	}
}

// TestListenersKilled cuts the listening connections again and again while turns go on (DI-03, DI-04).
func TestListenersKilled(t *testing.T) {
	s := redistest.Start(t)
	a, b := open(t, s.URL(), Options{}), open(t, s.URL(), Options{})
	c := rawClient(t, s)
	frames := require.Value(b.Bus().Subscribe(t.Context(), "room"))(t)
	before := claim(t, b, "room", 1)
	for id := chat.ResponseID(2); id < 12; id++ {
		require.NoError(t, c.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
		next := claim(t, []*Backend{a, b}[id%2], "room", id)
		cancelled(t, before, chat.ErrSuperseded)
		before = next
	}
	hearsAgain(t, a, frames)
}

// TestRestartsUnderLoad is DI-03 with claims all the time: the greatest turn is left, whatever was lost.
func TestRestartsUnderLoad(t *testing.T) {
	s := redistest.Start(t)
	all := []*Backend{open(t, s.URL(), Options{}), open(t, s.URL(), Options{}), open(t, s.URL(), Options{})}
	const perReplica = 40
	claims := make([]context.Context, len(all)*perReplica+1)
	pace := make(chan struct{})
	var wg sync.WaitGroup
	for r, b := range all {
		wg.Go(func() {
			for i := range perReplica {
				<-pace
				id := i*len(all) + r + 1
				claims[id], _ = b.Tracker().Claim(t.Context(), "ada", "room", chat.ResponseID(id))
			}
		})
	}
	for i := range len(all) * perReplica {
		switch i % 30 {
		case 10:
			s.Stop()
		case 20:
			s.Restart()
		}
		pace <- struct{}{}
	}
	wg.Wait()
	last := len(claims) - 1
	for id, ctx := range claims[:last] {
		if ctx != nil {
			select {
			case <-ctx.Done():
			case <-time.After(patience):
				t.Fatalf("turn %d runs on", id)
			}
		}
	}
	eventually(t, "settle", func(ctx context.Context) error {
		return all[0].Tracker().Settle(ctx, "ada", "room", chat.ResponseID(last))
	})
	if claims[last] == nil || claims[last].Err() != nil {
		t.Error("the latest turn is not held")
	}
}
