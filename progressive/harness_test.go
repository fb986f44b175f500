package progressive_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// delivery is one answer on its way into one chat.
type delivery struct {
	*testing.T
	chat *progressivetest.Chat
	sink progressive.Sink
	gate progressive.Gate
	run  chat.Run // with what was noted
	a    *answer.Answer

	mu      sync.Mutex
	notes   []chat.Shown
	refuse  error // what note answers
	cancel  context.CancelCauseFunc
	over    chan struct{}
	err     error
	options []progressive.Option
}

// withDelivery delivers an answer to its end and checks the rules of the chat.
func withDelivery(t *testing.T, sink func(*progressivetest.Chat) progressive.Sink, f func(*delivery)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		room := progressivetest.NewChat()
		s := &delivery{T: t, chat: room, sink: sink(room), gate: progressive.NewGate(room.Budget),
			run: chat.Run{ID: "run", Opened: time.Now()}}
		f(s)
		for _, p := range room.Problems() {
			t.Error(p)
		}
		if t.Failed() {
			for _, r := range room.Log() {
				t.Logf("%v %s %s %q -> %v (applied %v)", r.At.Sub(s.run.Opened), r.Op, r.ID, r.Part.Plain, r.Err, r.Applied)
			}
		}
	})
}

func full(c *progressivetest.Chat) progressive.Sink {
	return progressivetest.Full{Editing: editing(c).(progressivetest.Editing)}
}

func editing(c *progressivetest.Chat) progressive.Sink {
	return progressivetest.Editing{PostOnly: progressivetest.PostOnly{Chat: c}}
}

func postOnly(c *progressivetest.Chat) progressive.Sink { return progressivetest.PostOnly{Chat: c} }

func nonced(c *progressivetest.Chat) progressive.Sink {
	c.Window = 2 * time.Minute
	return progressivetest.Nonced{Full: full(c).(progressivetest.Full)}
}

// resending has no nonces: a last word of unknown fate is sent once more, marked.
func resending(c *progressivetest.Chat) progressive.Sink {
	c.Resend = true
	return full(c)
}

// drafting shows growing text as drafts.
func drafting(c *progressivetest.Chat) progressive.Sink {
	return progressivetest.Drafting{Full: full(c).(progressivetest.Full)}
}

// again is text with the mark of a repetition.
func again(text string) string { return text + "\n\n" + lang.Voice{}.Say("message.repeated") }

// show starts a holder of the run, with a new answer.
func (s *delivery) show() { s.showTo(slog.New(slog.DiscardHandler)) }

func (s *delivery) showTo(log *slog.Logger) { s.showNoting(log, s.note) }

func (s *delivery) showNoting(log *slog.Logger, note func(chat.Shown) error) {
	ctx, cancel := context.WithCancelCause(s.Context())
	s.a, s.cancel, s.over = &answer.Answer{}, cancel, make(chan struct{})
	s.chat.Open()
	m := progressive.New(s.sink, s.gate, s.run, log, s.options...)
	over := s.over
	go func() {
		s.err = m.Show(ctx, s.a, note)
		s.chat.Close()
		close(over)
	}()
}

// note keeps what the journal would.
func (s *delivery) note(h chat.Shown) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	if slices.Contains(s.run.Shown, h) {
		return nil // the journal holds it already
	}
	s.notes = append(s.notes, h)
	s.run.Shown = slices.DeleteFunc(slices.Clone(s.run.Shown), func(o chat.Shown) bool { return o.Part == h.Part })
	if !h.Gone {
		s.run.Shown = append(s.run.Shown, h)
	}
	return nil
}

func (s *delivery) say(text string) { s.a.Apply(answer.Change{Kind: answer.Text, Text: text}) }

// stream says text a word each pause.
func (s *delivery) stream(text string, pause time.Duration) {
	for w := range strings.SplitAfterSeq(text, " ") {
		s.say(w)
		time.Sleep(pause)
	}
}

// end ends the answer and waits for its last word.
func (s *delivery) end(o answer.Outcome) error {
	s.run.Verdict = &chat.Verdict{Outcome: o}
	s.a.End(o)
	return s.wait()
}

func (s *delivery) wait() error {
	<-s.over
	return s.err
}

// finish ends the answer as completed, with no error but that people removed it, or may not see its end.
func (s *delivery) finish() {
	s.Helper()
	if err := s.end(answer.Outcome{Status: answer.Completed}); err != nil && !errors.Is(err, core.ErrRemoved) && !errors.Is(err, core.ErrUnconfirmed) {
		s.Error(err)
	}
}

// wantShown compares what the reader sees.
func (s *delivery) wantShown(want ...string) {
	s.Helper()
	if got := s.chat.Shown(); !slices.Equal(got, want) {
		s.Errorf("shown %q, want %q", got, want)
	}
}

// fail makes the nth request of a kind meet f, counted from 0; n below 0 is all of them.
func (s *delivery) fail(op progressive.Op, n int, f progressivetest.Fault) {
	seen := 0
	s.chat.ChangeFate(func(before func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
		return func(r progressivetest.Request) progressivetest.Fault {
			if r.Op == op {
				if seen++; n < 0 || seen == n+1 {
					return f
				}
			}
			if before != nil {
				return before(r)
			}
			return progressivetest.Fault{}
		}
	})
}

func (s *delivery) count(op progressive.Op) int { return len(s.chat.Log(op)) }

const prose = "This is an answer of some words, told one after the other until there are enough of them."
