package stories_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"parley/connectors/connectortest"
	"parley/core/answer"
	"parley/core/event"
)

// eventLog are what observers have heard.
type eventLog struct {
	mu   sync.Mutex
	all  []event.Event
	text int // bytes that answers grew by
}

// Observe implements [event.Observer].
func (e *eventLog) Observe(event event.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// ObserveAnswer implements [event.AnswerObserver].
func (e *eventLog) ObserveAnswer(ev event.AnswerEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if grown, ok := ev.(event.ContentUpdated); ok {
		e.text += len(grown.Chunk)
	}
}

// of are the names of those that every message and its run have, in order, and how the runs ended.
func (e *eventLog) of() (names []string, ends []event.RunEnded) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		name := event.EventName(ev)
		if slices.Contains([]string{"MESSAGE_RECEIVED", "RUN_STARTED", "MESSAGE_SENT", "RUN_ENDED", "RUN_TIMEOUT"}, name) {
			names = append(names, name)
		}
		if end, ok := ev.(event.RunEnded); ok {
			ends = append(ends, end)
		}
	}
	return names, ends
}

// contacts are the messages that visitors have left.
func (e *eventLog) contacts() (all []event.ContactReceived) {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		if left, ok := ev.(event.ContactReceived); ok {
			all = append(all, left)
		}
	}
	return all
}

// wantEvents wants those of one question that source asked and that was answered.
func (s *harness) wantEvents(source string) {
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

// Observers get the same events for a question on every platform, and one end per run.
func TestChatEvents(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.wantShown(c.ada, "You said: Hello")
		c.wantEvents(c.name)
	})
}

// The same on the web.
func TestEventsOfAWebQuestion(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		s.readAll(s.send(s.newConversation(), "1", "Hello"))
		s.wantEvents("web")
	})
}
