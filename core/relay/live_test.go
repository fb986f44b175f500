package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/relay"
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
		again, err := r.Watch(ctx, "run")
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Wait(ctx, 0); !errors.Is(err, answer.ErrLost) {
			t.Errorf("who followed it hears %v", err)
		}
		if again == made {
			t.Error("it is watched after it was released")
		}
		cancel()
		r.Wait()
	})
}
