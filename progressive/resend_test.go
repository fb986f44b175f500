package progressive_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

var (
	lost   = progressivetest.Fault{Err: progressive.ErrAmbiguous}
	doubt  = progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true}
	refuse = progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/room", After: 3 * time.Second}}
)

// ST-27, TR-12: a last word of unknown fate is sent once more in all, marked, after a pause, and never a third time.
func TestLastWordIsSentOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		faults []progressivetest.Fault
		posts  int
		want   []string
	}{
		"lost":                        {[]progressivetest.Fault{lost}, 2, []string{again(prose)}},
		"done, unheard":               {[]progressivetest.Fault{doubt}, 2, []string{prose, again(prose)}},
		"lost twice":                  {[]progressivetest.Fault{lost, lost}, 2, nil},
		"unheard twice":               {[]progressivetest.Fault{doubt, doubt}, 2, []string{prose, again(prose)}},
		"refused, lost":               {[]progressivetest.Fault{refuse, lost}, 3, []string{again(prose)}},
		"lost, then refused thrice":   {[]progressivetest.Fault{lost, refuse, {Err: progressive.ErrUnsent}, refuse}, 5, []string{again(prose)}},
		"unheard, refused, unheard":   {[]progressivetest.Fault{doubt, refuse, doubt}, 3, []string{prose, again(prose)}},
		"lost, the markup is refused": {[]progressivetest.Fault{lost, {Err: progressive.ErrUnparsable}}, 3, []string{again(prose)}},
	} {
		t.Run(name, subtest.With(withDelivery, resending, func(s *delivery) {
			s.failEach(progressive.Post, c.faults)
			s.show()
			s.say(prose)
			s.finish()
			s.wantShown(c.want...)
			log := s.chat.Log(progressive.Post)
			if len(log) != c.posts {
				s.Errorf("%d posts; want %d", len(log), c.posts)
			}
			for i, r := range log[1:] {
				if errors.Is(log[i].Err, progressive.ErrAmbiguous) && r.At.Sub(log[i].At) < 4*time.Second {
					s.Errorf("it was sent again after %v", r.At.Sub(log[i].At))
				}
			}
		}))
	}
}

// failEach makes the first requests of a kind meet faults, one each.
func (s *delivery) failEach(op progressive.Op, faults []progressivetest.Fault) {
	n := 0
	s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
		return func(r progressivetest.Request) progressivetest.Fault {
			if r.Op == op {
				if n++; n <= len(faults) {
					return faults[n-1]
				}
			}
			return progressivetest.Fault{}
		}
	})
}

// ST-27: what was sent is counted before it is sent, and the count outlives the process.
func TestRepetitionIsCountedAcrossDeaths(t *testing.T) {
	for deaths, want := range [][]string{1: {prose, again(prose)}, 2: {prose, again(prose)}, 3: {prose, again(prose)}} {
		if deaths == 0 {
			continue
		}
		t.Run(fmt.Sprint(deaths), subtest.With(withDelivery, resending, func(s *delivery) {
			s.run.Verdict = &chat.Verdict{Outcome: completed}
			for range deaths {
				s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
					return func(progressivetest.Request) progressivetest.Fault { return doubt }
				})
				s.show()
				s.say(prose)
				s.a.End(completed)
				time.Sleep(500 * time.Millisecond)
				s.cancel(chat.ErrCrashed)
				_ = s.wait()
			}
			s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
				return nil
			})
			s.show()
			s.say(prose)
			s.finish()
			s.wantShown(want...)
		}))
	}
}

// ST-27: the next holder leaves the mark where it is, and takes it away from a message that says something else now.
func TestMarkStaysWithItsText(t *testing.T) {
	withDelivery(t, resending, func(s *delivery) {
		s.failEach(progressive.Post, []progressivetest.Fault{doubt})
		s.show()
		s.say(prose)
		s.finish()
		s.run.Epoch, s.run.Verdict = 2, &chat.Verdict{Outcome: completed}
		s.show()
		s.say(prose)
		s.finish()
		s.wantShown(prose, again(prose))
		s.run.Epoch, s.run.Verdict = 3, nil
		s.show()
		s.say("Another answer.")
		s.finish()
		s.wantShown(prose, "Another answer.")
	})
}

// ST-27: where a repetition is not wanted, the owner's log tells that something can be missing.
func TestNoRepetitionIsLogged(t *testing.T) {
	for sink, want := range map[bool]int{false: 1, true: 2} {
		withDelivery(t, full, func(s *delivery) {
			s.chat.Resend = sink
			s.failEach(progressive.Post, []progressivetest.Fault{lost, lost})
			var log bytes.Buffer
			s.showTo(slog.New(slog.NewTextHandler(&log, nil)))
			s.say(prose)
			s.finish()
			s.wantShown()
			if n := s.count(progressive.Post); n != want {
				t.Errorf("%d posts; want %d", n, want)
			}
			if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "may not have been shown") {
				t.Errorf(`the log says %q; want it to contain "level=ERROR" and it to contain "may not have been shown"`, log.String())
			}
		})
	}
}

// ST-27: of a long answer only the message of unknown fate is sent again, and the others come below it, in order.
func TestOnlyTheLostPartIsSentAgain(t *testing.T) {
	withDelivery(t, resending, func(s *delivery) {
		s.chat.Max = 50
		s.failEach(progressive.Post, []progressivetest.Fault{{}, lost})
		s.show()
		s.say(prose + " " + prose)
		s.finish()
		want := progressivetest.Split(s.a.View().Text(), 50)
		want = slices.Clone(want)
		want[1] = again(want[1])
		s.wantShown(want...)
	})
}
