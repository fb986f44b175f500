package progressive_test

import (
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// setPermit is a callback that calls its text important.
func (s *delivery) setPermit(text string) {
	s.a.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: text, Important: text})
}

// Where nothing can be edited, what is important on the way is a message of its own, once, whatever becomes of the request
// (TR-12), and then comes the last word. Elsewhere it stands in its place only.
func TestImportantUpdatesAreSent(t *testing.T) {
	for name, c := range map[string]struct {
		sink func(*progressivetest.Chat) progressive.Sink
		f    progressivetest.Fault // of the first post
		want []string
	}{
		"posts only":        {postOnly, progressivetest.Fault{}, []string{"It costs money.", "One is left.", "Bought."}},
		"it fails once":     {postOnly, progressivetest.Fault{Err: errUpload}, []string{"It costs money.", "One is left.", "Bought."}},
		"it must wait":      {postOnly, progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/room", After: time.Minute}}, []string{"It costs money.", "One is left.", "Bought."}},
		"unknown, it is":    {postOnly, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true}, []string{"It costs money.", "One is left.", "Bought."}},
		"unknown, it isn't": {postOnly, progressivetest.Fault{Err: progressive.ErrAmbiguous}, []string{"One is left.", "Bought."}},
		"forbidden":         {postOnly, progressivetest.Fault{Err: progressive.ErrForbidden}, nil},
		"edits":             {full, progressivetest.Fault{}, []string{"Bought."}},
	} {
		t.Run(name, subtest.With(withDelivery, c.sink, func(s *delivery) {
			s.fail(progressive.Post, 0, c.f)
			s.show()
			s.status("Looking…")
			time.Sleep(10 * time.Second)
			s.setPermit("It costs money.")
			s.status("Buying…")
			s.setPermit("One is left.")
			s.status("Paying…")
			time.Sleep(3 * time.Minute)
			s.status("Bought.")
			s.finish()
			s.wantShown(c.want...)
		}))
	}
}

// What was not sent before the end is not sent any more; who adopts the answer sends nothing again.
func TestImportantUpdatesStop(t *testing.T) {
	withDelivery(t, postOnly, func(s *delivery) {
		s.show()
		s.setPermit("It costs money.")
		s.status("Bought.")
		s.finish()
		s.wantShown("Bought.")
	})
	withDelivery(t, postOnly, func(s *delivery) {
		s.run.Shown = []chat.Shown{{Part: chat.FirstUpdate, ID: "m1"}}
		s.show()
		s.setPermit("It costs money.")
		time.Sleep(time.Minute)
		s.status("Bought.")
		s.finish()
		s.wantShown("Bought.")
	})
}
