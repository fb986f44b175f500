package progressive_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// down lets every request from now on fail with err until the time is over. The first so many creates are carried out all the same.
func (s *delivery) down(d time.Duration, err error, applied int) {
	until := time.Now().Add(d)
	s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
		return func(r progressivetest.Request) progressivetest.Fault {
			if !time.Now().Before(until) {
				return progressivetest.Fault{}
			}
			f := progressivetest.Fault{Err: err}
			if r.Op == progressive.Post && applied > 0 {
				applied--
				f.Applied = true
			}
			return f
		}
	})
}

// ST-27: a last word meets an outage. It is shown when the platform is back, at most a minute later, and repeated at most once.
func TestLastWordOutlastsAnOutage(t *testing.T) {
	for _, d := range []time.Duration{20 * time.Second, 10 * time.Minute, time.Hour, 20 * time.Hour} {
		for kind, c := range map[string]struct {
			sink    func(*progressivetest.Chat) progressive.Sink
			err     error
			applied int
			lead    string // shown before the outage
			want    []string
		}{
			"lost":                  {resending, progressive.ErrAmbiguous, 0, "", []string{again(prose)}},
			"carried out":           {resending, progressive.ErrAmbiguous, 1, "", []string{prose, again(prose)}},
			"unsent":                {resending, progressive.ErrUnsent, 0, "", []string{prose}},
			"an edit":               {resending, progressive.ErrAmbiguous, 0, half, []string{prose}},
			"an edit, unsent":       {resending, progressive.ErrUnsent, 0, half, []string{prose}},
			"nonces":                {noncedResending, progressive.ErrAmbiguous, 0, "", []string{again(prose)}},
			"an edit, with nonces":  {noncedResending, progressive.ErrAmbiguous, 0, half, []string{prose}},
			"an edit, never marked": {full, progressive.ErrAmbiguous, 0, half, []string{prose}},
		} {
			t.Run(fmt.Sprint(kind, ", ", d), subtest.With(withDelivery, c.sink, func(s *delivery) {
				if strings.Contains(kind, "nonces") {
					s.chat.Window = 2 * time.Minute
				}
				s.show()
				if s.say(c.lead); c.lead != "" {
					time.Sleep(5 * time.Second)
				}
				begun := time.Now()
				s.down(d, c.err, c.applied) // before the text: it could be posted before the outage begins
				s.say(strings.TrimPrefix(prose, c.lead))
				require.NoError(s, s.end(completed))
				if late := time.Since(begun.Add(d)); late < 0 || late > time.Minute+time.Second {
					s.Errorf("it ended %v after the outage", late)
				}
				if want := c.want; kind == "nonces" && d < s.chat.Window {
					s.wantShown(prose)
				} else {
					s.wantShown(want...)
				}
			}))
		}
	}
}

func noncedResending(c *progressivetest.Chat) progressive.Sink {
	c.Resend = true
	return nonced(c)
}

// ST-27: after a day without a sign of life the answer is given up, and the owner is told. So is a repetition of unknown fate, at once.
func TestUnconfirmedLastWord(t *testing.T) {
	for name, c := range map[string]struct {
		lead   string
		faults []progressivetest.Fault // of the creates; nil is an outage
		within time.Duration
	}{
		"an outage of two days":       {"", nil, 25 * time.Hour},
		"an outage, of an edit":       {half, nil, 25 * time.Hour},
		"a repetition, unheard":       {"", []progressivetest.Fault{doubt, doubt}, 10 * time.Second},
		"a repetition, lost":          {"", []progressivetest.Fault{lost, lost}, 10 * time.Second},
		"refusals in between, unsent": {"", []progressivetest.Fault{lost, {Err: progressive.ErrUnsent}, refuse, lost}, time.Minute},
	} {
		t.Run(name, subtest.With(withDelivery, resending, func(s *delivery) {
			s.show()
			if s.say(c.lead); c.lead != "" {
				time.Sleep(5 * time.Second)
			}
			begun := time.Now()
			if c.faults != nil {
				s.failEach(progressive.Post, c.faults)
			} else {
				s.down(48*time.Hour, progressive.ErrAmbiguous, 0)
			}
			s.say(strings.TrimPrefix(prose, c.lead))
			if err := s.end(answer.Outcome{Status: answer.Completed}); !errors.Is(err, core.ErrUnconfirmed) {
				s.Errorf("it ended with %v", err)
			}
			if took := time.Since(begun); took > c.within || c.faults == nil && took < 23*time.Hour {
				s.Errorf("it took %v", took)
			}
		}))
	}
}

// ST-27: a process that dies in an outage leaves the count to the next one, which waits for a sign of life as well. A definite refusal
// gives the count back.
func TestOutageOutlivesTheProcess(t *testing.T) {
	withDelivery(t, resending, func(s *delivery) {
		s.down(10*time.Minute, progressive.ErrAmbiguous, 0)
		s.showAll(prose)
		for range 3 {
			s.a.End(completed)
			time.Sleep(2 * time.Minute)
			s.cancel(chat.ErrCrashed)
			_ = s.wait()
			s.showAll(prose)
		}
		s.finish()
		s.wantShown(again(prose))
		if n := s.count(progressive.Post); n != 2 {
			t.Errorf("%d posts; want 2", n)
		}
	})
	withDelivery(t, resending, func(s *delivery) {
		s.failEach(progressive.Post, []progressivetest.Fault{doubt, {Err: progressive.ErrUnsent}})
		s.showAll(prose)
		s.a.End(completed)
		time.Sleep(5500 * time.Millisecond)
		s.cancel(chat.ErrCrashed)
		_ = s.wait()
		if n := s.run.Shown[0].Tries; n != 1 {
			t.Errorf("after a repetition that was not sent, the journal counts %d", n)
		}
		s.showAll(prose)
		s.finish()
		s.wantShown(prose, again(prose))
	})
}

// showAll shows an answer that is complete and not ended.
func (s *delivery) showAll(text string) {
	s.run.Verdict = &chat.Verdict{Outcome: completed}
	s.show()
	s.say(text)
}

// unprobed is a sink that can't find out whether the platform works.
type unprobed struct {
	progressivetest.Editing
	progressive.Deleter
	progressive.Resender
}

// A last edit fails until its message is deleted to be posted again, and it stays unknown whether that deletion was carried out. The failures
// before can be so many that it is the last attempt. The whole answer is shown in the end, though it can be marked.
func TestUnheardDeletionLosesNoText(t *testing.T) {
	for name, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{
		"with probes": resending, "without": func(c *progressivetest.Chat) progressive.Sink {
			all := resending(c).(progressivetest.Full)
			return unprobed{all.Editing, all, all}
		},
	} {
		for n := range 12 {
			t.Run(fmt.Sprint(name, ", ", n), func(t *testing.T) {
				withDelivery(t, sink, func(s *delivery) {
					s.show()
					s.say(half)
					time.Sleep(5 * time.Second)
					s.say(strings.TrimPrefix(prose, half))
					unsent, deleted := 0, false
					s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
						return func(r progressivetest.Request) progressivetest.Fault {
							switch {
							case r.Op == progressive.Delete && !deleted:
								deleted = true
								return doubt
							case r.Op == progressive.Edit && unsent < n:
								unsent++
								return progressivetest.Fault{Err: progressive.ErrUnsent}
							case r.Op == progressive.Edit && !deleted:
								return lost
							}
							return progressivetest.Fault{}
						}
					})
					s.finish()
					if got := s.chat.Shown(); !deleted || len(got) != 1 || got[0] != prose && got[0] != again(prose) {
						t.Errorf("shown is %q after a deletion (%v); want the answer once", got, deleted)
					}
				})
			})
		}
	}
}
