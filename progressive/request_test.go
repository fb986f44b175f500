package progressive_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/chat"
	"parley/progressive"
)

// A message that is created and can't be noted ends the holder: its successor asks the platform, and no second message
// is created.
func TestCreatedAndNotNoted(t *testing.T) {
	errDisk := errors.New("out of reach")
	withDelivery(t, nonced, func(s *delivery) {
		s.showNoting(slog.New(slog.DiscardHandler), func(h chat.Shown) error {
			if h.ID != "" {
				return errDisk
			}
			return s.note(h)
		})
		s.say(prose)
		if err := s.wait(); !errors.Is(err, errDisk) {
			s.Errorf("it ended with %v", err)
		}
		s.show()
		s.say(prose)
		s.finish()
		s.wantShown(prose)
	})
}

// queue keeps since when those wait who want a permit for text.
type queue struct {
	progressive.Gate
	begun time.Time
	fresh []time.Duration
}

func (q *queue) Enter(ctx context.Context, t progressive.Ticket) (func(error), error) {
	if t.Priority != progressive.PriorityTyping {
		q.fresh = append(q.fresh, t.UnshownSince.Sub(q.begun))
	}
	return q.Gate.Enter(ctx, t)
}

// Requests wait in the order of the oldest text that the reader does not see: what came while a request was under way is younger
// than its view, but not while a part of that view is missing.
func TestFreshOfTickets(t *testing.T) {
	const latency = 100 * time.Millisecond
	for name, c := range map[string]struct {
		says []string // one each, half a request after the one before
		want []time.Duration
	}{
		"all is shown":               {[]string{prose, " B", " C", " D"}, []time.Duration{0, 0, latency}},
		"a third message is missing": {[]string{strings.Repeat("word ", 110), " B", " C"}, []time.Duration{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			withDelivery(t, full, func(s *delivery) {
				q := &queue{Gate: progressive.NewGate(func(progressive.Scope) progressive.Budget { return progressive.Budget{} }), begun: time.Now()}
				s.gate = q
				s.show()
				for _, text := range c.says {
					s.say(text)
					time.Sleep(latency/2 + time.Millisecond)
				}
				time.Sleep(time.Second)
				s.finish()
				if len(q.fresh) < len(c.want) || !slices.Equal(q.fresh[:len(c.want)], c.want) {
					t.Errorf("they wait since %v", q.fresh)
				}
			})
		})
	}
}
