package parley_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	. "parley/connectors/connectortest"
	"parley/core"
	"parley/core/answer"
)

// events are what observers have heard.
type events struct {
	mu   sync.Mutex
	all  []core.Event
	text int // bytes that answers grew by
}

// Observe implements [core.Observer].
func (e *events) Observe(event core.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// ObserveAnswer implements [core.AnswerObserver].
func (e *events) ObserveAnswer(event core.AnswerEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if grown, ok := event.(core.ContentUpdated); ok {
		e.text += len(grown.Chunk)
	}
}

// of are the names of those that every message and its run have, in order, and how the runs ended.
func (e *events) of() (names []string, ends []core.RunEnded) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.all {
		name := core.EventName(event)
		if slices.Contains([]string{"MESSAGE_RECEIVED", "RUN_STARTED", "MESSAGE_SENT", "RUN_ENDED", "RUN_TIMEOUT"}, name) {
			names = append(names, name)
		}
		if end, ok := event.(core.RunEnded); ok {
			ends = append(ends, end)
		}
	}
	return names, ends
}

// wantsEvents wants those of one question that source asked and that was answered.
func (s *story) wantsEvents(source string) {
	s.Helper()
	synctest.Wait() // observers hear a little later
	names, ends := s.events.of()
	want := []string{"MESSAGE_RECEIVED", "RUN_STARTED", "MESSAGE_SENT", "RUN_ENDED"}
	if !slices.Equal(names, want) || len(ends) != 1 {
		s.Fatalf("heard was %q", names)
	}
	if e := ends[0]; e.Status != answer.Completed || e.Source != source || e.Run == "" || e.Message == "" || e.Room == "" || e.Entity == "" || e.End.Before(e.Start) {
		s.Errorf("the end is %+v", e)
	}
}

// Whoever listens hears the same of a question on every platform, and of each run one end.
func TestChatEvents(t *testing.T) {
	onEach(t, nil, func(c *chatStory) {
		c.Say(Ada, c.ada, "Hello")
		c.want(c.ada, "You said: Hello")
		c.wantsEvents(c.name)
	})
}

// The same on the web.
func TestEvents(t *testing.T) {
	tell(t, nil, func(s *story) {
		s.all(s.send(s.open(), "1", "Hello"))
		s.wantsEvents("web")
	})
}
