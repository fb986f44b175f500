package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/relay"
	"parley/internal/require"
	"parley/internal/subtest"
)

// openRuns is a store in which no run ever ends.
type openRuns struct{}

func (openRuns) Run(_ context.Context, id chat.RunID) (chat.Run, error) {
	return chat.Run{ID: id, Room: "room"}, nil
}

func (openRuns) Memory(context.Context, chat.MemoryID) (chat.Memory, error) {
	return chat.Memory{}, chat.ErrNotFound
}

func (openRuns) QuestionOf(context.Context, chat.RunID) (chat.Question, error) {
	return chat.Question{}, chat.ErrNotFound
}

func (openRuns) Continuation(context.Context, chat.RunID) ([]byte, error) {
	return nil, chat.ErrNotFound
}

// noBus carries nothing.
type noBus struct{}

func (noBus) Publish(context.Context, chat.RoomID, relay.Frame) error { return errors.New("no bus") }

func (noBus) Subscribe(context.Context, chat.RoomID) (<-chan relay.Frame, error) {
	return nil, errors.New("no bus")
}

// An answer that its maker released is not watched any more: a new watcher gets the one of another replica.
func TestReleasedAnswerIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := relay.NewRegistry(openRuns{}, noBus{}, slog.New(slog.DiscardHandler))
		made := r.Hold("run", "room", 1)
		if got, err := r.Watch(ctx, "run"); err != nil || got != made {
			t.Errorf("while it is made here, watched is another answer: %v", err)
		}
		r.Release("run", made)
		again := require.Value(r.Watch(ctx, "run"))(t)
		if err := made.Wait(ctx, 0); !errors.Is(err, answer.ErrLost) {
			t.Errorf("who followed it hears %v", err)
		}
		if again == made {
			t.Error("Watch returned the answer that was released; want a new one")
		}
		cancel()
		r.Wait()
	})
}

// A stream that is opened, or moves, while the gateway stops begins no mirror for which Wait doesn't wait. The client reconnects.
func TestNoMirrorBeginsAfterWait(t *testing.T) {
	r := relay.NewRegistry(openRuns{}, nil, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error)
	go func() { // in a race with Wait, as a handler is
		_, err := r.Watch(ctx, "run")
		watched <- err
	}()
	time.AfterFunc(time.Millisecond, cancel) // ends the mirror, if it came first
	r.Wait()
	if err := <-watched; err != nil && !errors.Is(err, chat.ErrShutdown) {
		t.Errorf("in a race, watching fails with %v", err)
	}
	if _, err := r.Watch(t.Context(), "run"); !errors.Is(err, chat.ErrShutdown) {
		t.Errorf("after Wait, watching fails with %v", err)
	}
}

// parkingRun is a store whose run is parked after a while, with what its holder has shown by then.
type parkingRun struct {
	openRuns
	shown atomic.Pointer[[]answer.Change]
	reads atomic.Int32 // of the continuation
}

func (s *parkingRun) Run(_ context.Context, id chat.RunID) (chat.Run, error) {
	if s.shown.Load() != nil {
		return chat.Run{ID: id, Room: "room", Epoch: 3, Parked: true}, nil // parking raises the epoch
	}
	return chat.Run{ID: id, Room: "room", Epoch: 2}, nil
}

func (s *parkingRun) Continuation(context.Context, chat.RunID) ([]byte, error) {
	s.reads.Add(1)
	return json.Marshal(relay.Shown{Changes: *s.shown.Load()})
}

// frames is a bus with one frame.
type frames struct {
	noBus
	one chan relay.Frame
}

func (b frames) Subscribe(context.Context, chat.RoomID) (<-chan relay.Frame, error) {
	return b.one, nil
}

// A run on another replica asks a question and is parked before its holder answers a watcher, or the last frame is lost. The watcher sees the
// question, reads it once, and starts over if its frames are those of an earlier holder.
func TestWatcherSeesWhatAParkedRunAsks(t *testing.T) {
	for name, epoch := range map[string]chat.Epoch{"no frame": 0, "frames of the holder": 2, "frames of an earlier holder": 1} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			store, bus, holder := &parkingRun{}, frames{one: make(chan relay.Frame, 1)}, &answer.Answer{}
			holder.Apply(answer.Change{Kind: answer.Text, Text: "Which "})
			if epoch > 0 {
				changes, _ := holder.Since(0)
				bus.one <- relay.Frame{Run: "run", Epoch: epoch, Changes: changes}
			}
			r := relay.NewRegistry(store, bus, slog.New(slog.DiscardHandler))
			a := require.Value(r.Watch(ctx, "run"))(t)
			time.Sleep(time.Minute)
			holder.Apply(answer.Change{Kind: answer.Text, Text: "one?"})
			holder.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: &answer.Choices{ID: "q", Options: []string{"A", "B"}}})
			changes, _ := holder.Since(0)
			store.shown.Store(&changes)
			time.Sleep(time.Minute)
			_, err := a.Changed(a.View().At)
			if lost := errors.Is(err, answer.ErrLost); lost != (epoch == 1) {
				t.Errorf("the watcher starts over: %v", lost)
			} else if lost {
				a = require.Value(r.Watch(ctx, "run"))(t)
				time.Sleep(time.Minute)
			}
			if v := a.View(); v.Text() != "Which one?" || v.Choices == nil || v.Choices.ID != "q" {
				t.Errorf("the watcher sees %q with %+v", v.Text(), v.Choices)
			}
			if n := store.reads.Load(); n > 2 {
				t.Errorf("the continuation is read %d times", n)
			}
			cancel()
			r.Wait()
		}))
	}
}

// waitingBus has no response for subscribers until they give up.
type waitingBus struct{ noBus }

func (waitingBus) Subscribe(ctx context.Context, _ chat.RoomID) (<-chan relay.Frame, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// An answer that ends before it can be offered to other replicas is no reason for a warning. A bus that fails is one, once.
func TestWarnsOnlyOfABusThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		bus  relay.Bus
		want int
	}{"waits": {waitingBus{}, 0}, "fails": {noBus{}, 1}} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			var log strings.Builder
			r := relay.NewRegistry(openRuns{}, c.bus, slog.New(slog.NewTextHandler(&log, nil)))
			for range 3 {
				ctx, end := context.WithCancel(t.Context())
				a := r.Hold("run", "room", 1)
				time.AfterFunc(time.Millisecond, end)
				r.Publish(ctx, chat.Run{ID: "run", Room: "room", Epoch: 1}, a)
				r.Release("run", a)
			}
			if n := strings.Count(log.String(), "\n"); n != c.want {
				t.Errorf("%d lines are logged:\n%s", n, log.String())
			}
		}))
	}
}
