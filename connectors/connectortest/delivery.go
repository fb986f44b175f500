package connectortest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/progressive"
)

func view(text string) answer.View {
	return answer.View{Segments: []answer.Segment{{Text: text}}}
}

// showing is an answer being delivered to a room.
type showing struct {
	r      *suiteRun
	place  Room
	answer *answer.Answer
	text   strings.Builder
	ended  chan error
	shown  []chat.Shown
}

// show sends a question as Ada, and shows an answer that the test writes.
func (r *suiteRun) show(in Room, gate progressive.Gate) *showing {
	r.Helper()
	m := r.ask(in, "tell me")
	s := &showing{r: r, place: in, answer: new(answer.Answer), ended: make(chan error, 1)}
	run := chat.Run{ID: chat.RunID(fmt.Sprintf("%s#1", m.Room)), Room: m.Room, Opened: time.Now()}
	message := progressive.New(r.open(m), gate, run, slog.New(slog.DiscardHandler))
	go func() {
		s.ended <- message.Show(context.WithoutCancel(r.Context()), s.answer, func(sh chat.Shown) error {
			s.shown = append(s.shown, sh)
			return nil
		})
	}()
	return s
}

// grow writes n words, one per interval.
func (s *showing) grow(n int, every time.Duration) {
	for range n {
		word := fmt.Sprintf("word%d ", s.text.Len())
		if s.text.Len()%40 == 0 {
			word = strings.TrimSpace(word) + ".\n\n"
		}
		s.text.WriteString(word)
		s.answer.Apply(answer.Change{Kind: answer.Text, Text: word})
		time.Sleep(every)
	}
}

// finish ends the answer, and checks that the room shows its text once, complete and in order (I3, ST-18, ST-19).
func (s *showing) finish() {
	s.r.Helper()
	s.answer.End(answer.Outcome{Status: answer.Completed})
	s.r.must(<-s.ended)
	if got, want := strings.Fields(strings.Join(BotTexts(s.r, s.place), " ")), strings.Fields(s.text.String()); !slices.Equal(got, want) {
		s.r.Errorf("%s shows %d words, said were %d:\n%q", s.place, len(got), len(want), got)
	}
	s.nothingFollows()
}

// nothingFollows is I5 and ST-05.
func (s *showing) nothingFollows() {
	s.r.Helper()
	made := len(s.r.Requests())
	pass(5 * time.Minute)
	if more := s.r.Requests()[made:]; len(more) > 0 {
		s.r.Errorf("after the end: %+v; want none", more)
	}
}

// edits returns the number of requests that changed a message of a room.
func (s *showing) edits() (n int) {
	for _, q := range s.r.Requests() {
		if q.Scope == string(s.place) && !q.Create && q.Message != "" {
			n++
		}
	}
	return n
}

// ST-01, I6, I7: an answer grows by edits, within the platform's rate limits, which are on.
func answerGrows(r *suiteRun) {
	gate := r.gate()
	for _, place := range []Room{r.Direct(Ada), r.Group()} {
		s := r.show(place, gate)
		s.grow(200, 100*time.Millisecond)
		s.finish()
		if n := s.edits(); n < 4 || n > 22 {
			r.Errorf("%s: %d edits in 20 s; want at least 4 and at most 22", place, n)
		}
		grows(r, place)
	}
}

// grows is I4 and ST-20: no version is shorter than the previous one.
func grows(r *suiteRun, in Room) {
	r.Helper()
	for _, m := range r.Messages(in) {
		for i, v := range m.Versions {
			if i > 0 && len(v.Text) < len(m.Versions[i-1].Text) {
				r.Errorf("a message shrinks from %q to %q", m.Versions[i-1].Text, v.Text)
			}
		}
	}
}

// ST-11, ST-18, ST-19: a long answer becomes several messages, each created once.
func answerOfManyMessages(r *suiteRun) {
	gate := r.gate()
	for _, place := range []Room{r.Direct(Ada), r.Group()} {
		s := r.show(place, gate)
		s.grow(1200, 50*time.Millisecond)
		if s.text.Len() < 10_000 {
			r.Fatalf("only %d bytes", s.text.Len())
		}
		s.finish()
		if n := len(BotTexts(r, place)); n < 3 || n > 8 {
			r.Errorf("%d messages; want at least 3 and at most 8", n)
		}
	}
}

// ST-02, I6: nothing is sent during a rate limit, and the latest text after it.
func holdsAreObeyed(r *suiteRun) {
	for _, hold := range []time.Duration{time.Second, 33 * time.Second} {
		for _, op := range []progressive.Op{progressive.Post, progressive.Edit} {
			before := len(BotTexts(r, r.Group()))
			s := r.show(r.Group(), r.gate())
			r.InjectFault(Fault{Op: op, In: s.place, Hold: hold})
			s.grow(150, 100*time.Millisecond)
			s.answer.End(answer.Outcome{Status: answer.Completed})
			r.must(<-s.ended)
			all := BotTexts(r, s.place)[before:]
			if got := strings.Fields(strings.Join(all, " ")); !slices.Equal(got, strings.Fields(s.text.String())) {
				r.Errorf("after a hold of %v on a %s: %q", hold, op, all)
			}
			s.nothingFollows()
		}
	}
}

func answerIsWithdrawn(r *suiteRun) {
	s := r.show(r.Direct(Ada), r.gate())
	s.grow(20, 200*time.Millisecond)
	if len(BotTexts(r, s.place)) == 0 {
		r.Fatal("the room shows no message of the bot; want a preview")
	}
	s.answer.End(answer.Outcome{Status: answer.Superseded, Withdrawn: true})
	r.must(<-s.ended)
	if left := BotTexts(r, s.place); len(left) > 0 {
		r.Errorf("what was taken back still stands: %q", left)
	}
	s.nothingFollows()
}
