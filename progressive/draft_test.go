package progressive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// want compares the numbers of requests.
func (s *delivery) want(drafts, posts, edits int) {
	s.Helper()
	got := [3]int{s.count(progressive.Draft), s.count(progressive.Post), s.count(progressive.Edit)}
	if got != [3]int{drafts, posts, edits} {
		s.Errorf("%d drafts, %d posts, %d edits; want %d, %d, %d", got[0], got[1], got[2], drafts, posts, edits)
	}
}

// TR-13: an answer grows as a draft, which stays visible through a long pause, and ends as one message.
func TestDraftGrows(t *testing.T) {
	withDelivery(t, drafting, func(s *delivery) {
		s.show()
		s.say(half)
		for range 70 {
			time.Sleep(time.Second)
			if s.chat.Draft() != half {
				t.Fatalf("after %v the draft is %q", time.Since(s.run.Opened), s.chat.Draft())
			}
		}
		s.say(prose[len(half):])
		time.Sleep(3 * time.Second)
		s.wantShown()
		s.finish()
		s.wantShown(prose)
		s.want(5, 1, 0) // at 0, 20, 40 and 60 seconds, and for the rest of the text
	})
}

// A draft that a message removes is sent again at once, without more text.
func TestDraftIsSentAgainAfterAMessage(t *testing.T) {
	withDelivery(t, drafting, func(s *delivery) {
		s.show()
		s.say(half)
		time.Sleep(5 * time.Second)
		s.chat.RemoveDraft()
		time.Sleep(200 * time.Millisecond)
		if s.chat.Draft() != half {
			t.Errorf("the draft is %q", s.chat.Draft())
		}
		s.finish()
		s.want(2, 1, 0)
	})
}

// Complete parts become messages; only the growing one is a draft.
func TestDraftOfTheLastPart(t *testing.T) {
	withDelivery(t, drafting, func(s *delivery) {
		s.chat.Max = 82
		s.show()
		s.say(prose[:70])
		time.Sleep(3 * time.Second)
		s.say(prose[70:])
		time.Sleep(3 * time.Second)
		s.wantShown(two[0])
		if s.chat.Draft() != two[1] {
			t.Errorf("the draft is %q", s.chat.Draft())
		}
		s.finish()
		s.wantShown(two...)
		s.want(2, 2, 0)
	})
}

// Options and files need a message.
func TestDraftBecomesAMessage(t *testing.T) {
	for name, c := range map[string]struct {
		change answer.Change
		below  []string
	}{
		"a file":  {answer.Change{Kind: answer.Callback, Call: "c", Files: []llm.File{{Name: "a.txt", Data: []byte("a")}}}, []string{"[a.txt]"}},
		"options": {answer.Change{Kind: answer.ChoicesChanged, Choices: &answer.Choices{ID: "q", Options: []string{"Yes", "No"}}}, nil},
	} {
		t.Run(name, subtest.With(withDelivery, drafting, func(s *delivery) {
			s.show()
			s.say(half)
			time.Sleep(3 * time.Second)
			s.a.Apply(c.change)
			time.Sleep(3 * time.Second)
			s.wantShown(append([]string{half}, c.below...)...)
			s.say(prose[len(half):])
			s.finish()
			s.wantShown(append([]string{prose}, c.below...)...)
			s.want(1, 1+len(c.below), 1)
		}))
	}
}

// A refusal that is final, or three failures in a row, end drafts; two failures don't, and neither do rate limits.
func TestDraftsFallBack(t *testing.T) {
	other := progressivetest.Fault{Err: errOther}
	lost := progressivetest.Fault{Err: progressive.ErrAmbiguous}
	for name, c := range map[string]struct {
		faults       []progressivetest.Fault
		posts, edits int
	}{
		"no drafts here":       {[]progressivetest.Fault{{Err: progressive.ErrNoDraft}}, 1, 3},
		"refused after three":  {[]progressivetest.Fault{{}, {}, {}, {Err: progressive.ErrNoDraft}}, 1, 0},
		"three failures":       {[]progressivetest.Fault{other, lost, {Err: progressive.ErrUnsent}}, 1, 2},
		"two failures":         {[]progressivetest.Fault{other, lost}, 1, 0},
		"two and two failures": {[]progressivetest.Fault{other, other, {}, lost, lost}, 1, 0},
		"markup":               {[]progressivetest.Fault{{Err: progressive.ErrUnparsable}}, 1, 0},
		"1 s":                  {[]progressivetest.Fault{{}, faults["wait 1s"]}, 1, 0},
		"33 s":                 {[]progressivetest.Fault{{}, faults["wait 33s"]}, 1, 0},
		"7200 s":               {[]progressivetest.Fault{{}, faults["wait 7200s"]}, 1, 0},
	} {
		t.Run(name, subtest.With(withDelivery, drafting, func(s *delivery) {
			n := 0
			s.chat.Fate = func(r progressivetest.Request) (f progressivetest.Fault) {
				if r.Op == progressive.Draft && n < len(c.faults) {
					f = c.faults[n]
					n++
				}
				return f
			}
			s.show()
			for i := range 4 {
				s.say(strings.Repeat(fmt.Sprint("word ", i, " "), 5))
				time.Sleep(9 * time.Second)
			}
			want := s.a.View().Text()
			s.finish()
			s.wantShown(want)
			s.want(s.count(progressive.Draft), c.posts, c.edits)
			if n < len(c.faults) {
				s.Errorf("%d drafts; want at least %d", n, len(c.faults))
			}
		}))
	}
}

// What may have arrived is not sent again until it has to be renewed.
func TestLostDraftIsNotRepeated(t *testing.T) {
	withDelivery(t, drafting, func(s *delivery) {
		s.fail(progressive.Draft, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true})
		s.show()
		s.say(half)
		time.Sleep(18 * time.Second)
		s.want(1, 0, 0)
		time.Sleep(5 * time.Second)
		s.want(2, 0, 0)
		s.finish()
		s.want(2, 1, 0)
	})
}

// A holder that dies between two steps leaves nothing behind; the next one shows the answer once.
func TestDeathsWithDrafts(t *testing.T) {
	for name, texts := range answers {
		t.Run(name, func(t *testing.T) {
			sink := func(c *progressivetest.Chat) progressive.Sink {
				return progressivetest.Drafting{Full: resending(c).(progressivetest.Full)}
			}
			everyPair(t, sink, texts, weather{at: -1})
			for request := range 3 {
				everyPair(t, sink, texts, weather{"ambiguous, done", request})
			}
		})
	}
}
