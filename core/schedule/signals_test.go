package schedule_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/chat"
	"parley/core/schedule"
	"parley/internal/subtest"
)

// A status that still waits for its request when the answer ends is not shown later, and not removed. A request that was made is.
func TestStatusOfAShortAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		permit, answer time.Duration // until a request is permitted, and until the answer ends
		waited         time.Duration // the question, before
		want           []chat.Status
	}{
		"late permit":               {5 * time.Second, time.Second, 0, nil},
		"late permit, after a wait": {5 * time.Second, time.Second, time.Minute, []chat.Status{chat.Working, chat.NoStatus}},
		"permit":                    {time.Second, 5 * time.Second, 0, []chat.Status{chat.Working, chat.NoStatus}},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			var mu sync.Mutex
			var shown []chat.Status
			s := schedule.Signals{Log: slog.New(slog.DiscardHandler), Request: func(sig chat.Signal) func(context.Context) error {
				return func(ctx context.Context) error {
					select {
					case <-ctx.Done():
						return context.Cause(ctx)
					case <-time.After(c.permit):
					}
					mu.Lock()
					defer mu.Unlock()
					shown = append(shown, sig.Is)
					return nil
				}
			}}
			ended := s.Started(chat.Run{Inputs: []chat.MemoryID{"chat/1/2/3"}, Opened: time.Now().Add(-c.waited)})
			time.Sleep(c.answer)
			ended()
			time.Sleep(time.Minute)
			s.Close()
			if !slices.Equal(shown, c.want) {
				t.Errorf("shown: %v, want %v", shown, c.want)
			}
		}))
	}
}
