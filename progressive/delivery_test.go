package progressive_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/core"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

var errOther = errors.New("500 without a word")

// faults are what can become of a request.
var faults = map[string]progressivetest.Fault{
	"ok":                {},
	"wait 1s":           {Err: progressive.RetryAfter{Scope: "chat/room", After: time.Second}},
	"wait 33s":          {Err: progressive.RetryAfter{Scope: "chat/room", After: 33 * time.Second}},
	"wait 7200s":        {Err: progressive.RetryAfter{Scope: "chat/room", After: 7200 * time.Second}},
	"gone":              {Err: progressive.ErrGone, Remove: true},
	"forbidden":         {Err: progressive.ErrForbidden},
	"unparsable":        {Err: progressive.ErrUnparsable},
	"ambiguous, done":   {Err: progressive.ErrAmbiguous, Applied: true},
	"ambiguous, undone": {Err: progressive.ErrAmbiguous},
	"silent":            {Silent: true},
	"other":             {Err: errOther},
	"unsent":            {Err: progressive.ErrUnsent},
}

// steps are the requests of an answer, each with the story that leads to it. What is not said in but is that the
// reader sees the final once, and nothing else.
var steps = map[string]struct {
	op   progressive.Op
	n    int
	tell func(*story)
	but  map[string][]string // by fault, without nonces
	with map[string][]string // by fault, with nonces
	more map[string][]string // by fault, where a last word of unknown fate is sent once more; else as without nonces
}{
	"first post": {op: progressive.Post, tell: streamed,
		but: map[string][]string{"forbidden": nil, "ambiguous, done": {half, prose}, "silent": {half, prose}}, with: map[string][]string{"forbidden": nil}},
	"edit":       {op: progressive.Edit, tell: streamed, but: map[string][]string{"forbidden": {half}}},
	"final edit": {op: progressive.Edit, n: 1, tell: streamed, but: map[string][]string{"forbidden": {most}}},
	"final post": {op: progressive.Post, tell: func(s *story) { s.say(prose) },
		but:  map[string][]string{"forbidden": nil, "ambiguous, undone": nil},
		with: map[string][]string{"forbidden": nil},
		more: map[string][]string{"ambiguous, undone": {again(prose)}, "ambiguous, done": {prose, again(prose)}, "silent": {prose, again(prose)}}},
	"second post": {op: progressive.Post, n: 1, tell: func(s *story) { s.chat.Max = 82; s.say(prose) },
		but: map[string][]string{"forbidden": two[:1], "ambiguous, undone": two[:1], "gone": two[1:],
			"ok": two, "*": two},
		with: map[string][]string{"forbidden": two[:1], "gone": two[1:], "*": two},
		more: map[string][]string{"ambiguous, undone": {two[0], again(two[1])}, "ambiguous, done": {two[0], two[1], again(two[1])},
			"silent": {two[0], two[1], again(two[1])}}},
}

var (
	half = prose[:43]
	most = prose[:60]
	two  = progressivetest.Split(prose, 82)
)

// streamed shows half, then most, then the end comes.
func streamed(s *story) {
	s.say(half)
	time.Sleep(3 * time.Second)
	s.say(prose[len(half):len(most)])
	time.Sleep(3 * time.Second)
	s.say(prose[len(most):])
}

// ST-06, ST-21, ST-27, TR-11, TR-12: the delivery table.
func TestDelivery(t *testing.T) {
	for name, step := range steps {
		for fault, f := range faults {
			for kind, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": nonced, "no nonces": full, "resends": resending} {
				t.Run(name+"/"+fault+"/"+kind, func(t *testing.T) {
					tell(t, sink, func(s *story) {
						s.fail(step.op, step.n, f)
						s.show()
						step.tell(s)
						s.finish()
						expected := step.but
						if kind == "nonces" && step.with != nil {
							expected = step.with
						}
						if want, ok := step.more[fault]; kind == "resends" && ok {
							expected = map[string][]string{fault: want}
						}
						s.wantShown(expect(expected, fault)...)
						if f.Err == progressive.ErrUnparsable {
							s.wantPlainOnce()
						}
					})
				})
			}
		}
	}
}

func expect(but map[string][]string, fault string) []string {
	if want, ok := but[fault]; ok {
		return want
	}
	if want, ok := but["*"]; ok {
		return want
	}
	return []string{prose}
}

// wantPlainOnce wants the refused part to be asked for in plain next, and others with markup.
func (s *story) wantPlainOnce() {
	s.Helper()
	log := s.chat.Log(progressive.Post, progressive.Edit)
	for i, r := range log {
		refused := i > 0 && errors.Is(log[i-1].Err, progressive.ErrUnparsable)
		switch {
		case refused && (r.Part.Text != "" || r.Part.Plain != log[i-1].Part.Plain || r.Op != log[i-1].Op):
			s.Errorf("after the refusal: %s %+v", r.Op, r.Part)
		case !refused && r.Part.Text == "":
			s.Errorf("%s %q is plain", r.Op, r.Part.Plain)
		}
	}
}

// A preview that may be the whole answer already is not sent again.
func TestAmbiguousPreviewOfTheWholeAnswer(t *testing.T) {
	tell(t, full, func(s *story) {
		s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true})
		s.show()
		s.say(prose)
		time.Sleep(5 * time.Second)
		s.finish()
		s.wantShown(prose)
	})
}

// ST-26: a create that was definitely refused leaves no trace in the journal, and the next holder posts the last word. One
// whose fate is unknown stays there, also when a later try is refused.
func TestRefusalWithdrawsTheIntent(t *testing.T) {
	for fault, f := range faults {
		if f.Err == nil || f.Err == progressive.ErrAmbiguous || f.Err == progressive.ErrGone {
			continue
		}
		for name, before := range map[string]bool{"first": false, "after a doubt": true} {
			t.Run(fault+"/"+name, func(t *testing.T) {
				tell(t, full, func(s *story) {
					doubts := 0
					if before {
						s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous})
						doubts = 1
					}
					s.fail(progressive.Post, doubts, f)
					s.show()
					streamed(s)
					s.run.Verdict = &core.Verdict{}
					s.a.End(completed)
					time.Sleep(120 * time.Millisecond)
					s.cancel(core.ErrShutdown)
					_ = s.wait()
					s.mu.Lock()
					first := slices.DeleteFunc(slices.Clone(s.notes), func(h core.Shown) bool { return !h.Gone && h.ID == "" })
					s.mu.Unlock()
					if !before && (len(first) == 0 || !first[0].Gone) {
						t.Errorf("noted %+v", s.notes)
					}
					if before && (len(s.run.Shown) == 0 && s.count(progressive.Post) == 2) {
						t.Errorf("the doubt is forgotten: %+v", s.notes)
					}
				})
			})
		}
	}
}

// ST-26: what could not even be sent is tried until it can be, at most a minute apart.
func TestUnsentLastWordWaitsForTheNetwork(t *testing.T) {
	for _, op := range []progressive.Op{progressive.Post, progressive.Edit} {
		t.Run(op.String(), func(t *testing.T) {
			tell(t, full, func(s *story) {
				s.show()
				if op == progressive.Edit {
					streamed(s)
				} else {
					s.say(prose)
				}
				s.fail(op, -1, progressivetest.Fault{Err: progressive.ErrUnsent})
				s.run.Verdict = &core.Verdict{}
				s.a.End(completed)
				time.Sleep(time.Hour)
				s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
					return nil
				})
				time.Sleep(61 * time.Second)
				s.wantShown(prose)
				_ = s.wait()
			})
		})
	}
}

// An unknown preview is not forgotten over a refusal of the final that follows.
func TestRefusedFinalAfterAmbiguousPreview(t *testing.T) {
	tell(t, full, func(s *story) {
		s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous})
		s.fail(progressive.Post, 1, progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/room", After: time.Minute}})
		s.show()
		streamed(s)
		s.finish()
		s.wantShown(prose)
	})
}

// ST-21: whoever removes the answer twice is not sent it a third time.
func TestRemovedTwice(t *testing.T) {
	tell(t, full, func(s *story) {
		s.fail(progressive.Edit, 0, progressivetest.Fault{Err: progressive.ErrGone, Remove: true})
		s.fail(progressive.Post, 1, progressivetest.Fault{Err: progressive.ErrGone})
		s.show()
		streamed(s)
		s.finish()
		s.wantShown()
		if n := len(s.chat.Log(progressive.Post, progressive.Edit)); n != 3 {
			t.Errorf("%d requests", n)
		}
	})
}

// The final was seen, and removed: it is not sent again.
func TestRemovedAfterTheFinalWasSeen(t *testing.T) {
	tell(t, full, func(s *story) {
		s.fail(progressive.Edit, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true})
		s.fail(progressive.Edit, 1, progressivetest.Fault{Err: progressive.ErrGone, Remove: true})
		s.show()
		s.say(half)
		time.Sleep(3 * time.Second)
		s.say(prose[len(half):])
		s.finish()
		s.wantShown()
	})
}

// With nonces, an answer that was removed is sent again with another nonce: the first gives the message that is gone.
func TestRemovedWithNonces(t *testing.T) {
	tell(t, nonced, func(s *story) {
		s.show()
		s.say(half)
		time.Sleep(3 * time.Second)
		s.chat.Remove()
		s.say(prose[len(half):])
		time.Sleep(3 * time.Second)
		if n := s.count(progressive.Edit) + s.count(progressive.Post); n != 2 {
			t.Errorf("%d requests before the end", n)
		}
		s.finish()
		s.wantShown(prose)
	})
}

// Definite failures of the last word: a few tries, at growing intervals, then nothing.
func TestLastWordIsGivenUp(t *testing.T) {
	for op, lead := range map[progressive.Op]func(*story){progressive.Post: func(*story) {}, progressive.Edit: streamed} {
		for _, err := range []error{errOther, progressive.ErrAmbiguous} {
			t.Run(op.String()+"/"+err.Error(), func(t *testing.T) {
				tell(t, nonced, func(s *story) {
					gate := &finalsOnly{Gate: s.gate}
					s.gate = gate
					s.show()
					lead(s)
					gate.closed.Store(true)
					s.fail(op, -1, progressivetest.Fault{Err: err})
					s.say(prose)
					s.finish()
					var last, gap time.Duration
					var tries int
					for _, r := range s.chat.Log(op) {
						if r.Err == nil {
							continue
						}
						at := r.At.Sub(s.run.Opened)
						if tries++; tries > 2 && at-last < gap {
							t.Errorf("try %d came %v after the one before", tries, at-last)
						}
						gap, last = at-last, at
					}
					want := 8
					if op == progressive.Post && err == progressive.ErrAmbiguous {
						want = 7 // then the nonce is too old
					}
					if tries != want {
						t.Errorf("%d tries", tries)
					}
				})
			})
		}
	}
}

// finalsOnly gives no permit for text on the way once it is closed.
type finalsOnly struct {
	progressive.Gate
	closed atomic.Bool
}

func (g *finalsOnly) Enter(ctx context.Context, t progressive.Ticket) (func(error), error) {
	if g.closed.Load() && t.Priority < progressive.Final {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return g.Gate.Enter(ctx, t)
}

// Interim failures are not repeated with each delta, and cost the final nothing.
func TestInterimFailuresBackOff(t *testing.T) {
	tell(t, full, func(s *story) {
		failing := true
		s.chat.Max = 0
		s.chat.Fate = func(r progressivetest.Request) progressivetest.Fault {
			if r.Op == progressive.Edit && failing {
				return progressivetest.Fault{Err: errOther}
			}
			return progressivetest.Fault{}
		}
		s.show()
		s.stream(strings.Repeat("word ", 600), 100*time.Millisecond)
		if n := s.count(progressive.Edit); n < 4 || n > 8 {
			t.Errorf("%d edits failed in a minute", n)
		}
		failing = false
		begun := time.Now()
		s.finish()
		if d := time.Since(begun); d != 100*time.Millisecond {
			t.Errorf("the final took %v", d)
		}
	})
}

func TestDeleteIsRetried(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			tell(t, full, func(s *story) {
				s.fail(progressive.Delete, 0, f)
				s.show()
				s.say(prose)
				time.Sleep(3 * time.Second)
				if err := s.end(core.Outcome{Status: core.Superseded, Withdrawn: true}); err != nil {
					t.Error(err)
				}
				if f.Err == progressive.ErrForbidden {
					s.wantShown(prose)
					return
				}
				s.wantShown()
				if len(s.run.Shown) != 0 {
					t.Errorf("noted %v", s.run.Shown)
				}
			})
		})
	}
}

// Once there is a verdict, a part that an earlier holder was creating may be its last word.
func TestResumedFinalOfUnknownFate(t *testing.T) {
	for name, c := range map[string]struct {
		sink    func(*progressivetest.Chat) progressive.Sink
		verdict *core.Verdict
		want    []string
	}{
		"verdict, no nonces":  {full, &core.Verdict{}, []string{prose}},
		"verdict, nonces":     {nonced, &core.Verdict{}, []string{prose}},
		"preview, no nonces":  {full, nil, []string{prose}}, // which was the whole text already
		"preview, with nonce": {nonced, nil, []string{prose}},
		"verdict, resent":     {resending, &core.Verdict{}, []string{prose, again(prose)}},
		"preview, resent":     {resending, nil, []string{prose, again(prose)}},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, c.sink, func(s *story) {
				s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true})
				s.show()
				s.say(prose)
				time.Sleep(500 * time.Millisecond)
				s.cancel(core.ErrShutdown)
				_ = s.wait()
				s.run.Verdict = c.verdict
				s.show()
				s.say(prose)
				s.finish()
				if got := s.chat.Shown(); !slices.Equal(got, c.want) {
					t.Errorf("shown %q, want %q", got, c.want)
				}
			})
		})
	}
}

// ST-26: one death while a preview is posted, another between the verdict and the last word: the preview is not taken for
// the last word, and that is posted whole.
func TestTwoDeathsLeaveNoStump(t *testing.T) {
	for name, c := range map[string]struct {
		sink    func(*progressivetest.Chat) progressive.Sink
		applied bool
		want    []string
	}{
		"no nonces, applied":     {full, true, []string{half, prose}},
		"no nonces, not applied": {full, false, []string{prose}},
		"nonces, applied":        {nonced, true, []string{prose}},
		"nonces, not applied":    {nonced, false, []string{prose}},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, c.sink, func(s *story) {
				s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: c.applied})
				s.show()
				s.say(half)
				time.Sleep(500 * time.Millisecond)
				s.cancel(core.ErrCrashed)
				_ = s.wait()
				s.run.Epoch, s.run.Verdict = 2, &core.Verdict{Outcome: completed} // and the next holder dies
				s.show()
				s.say(prose)
				s.finish()
				s.wantShown(c.want...)
			})
		})
	}
}

// ST-26: the same for a file that is posted while the answer is written.
func TestTwoDeathsLoseNoFile(t *testing.T) {
	tell(t, full, func(s *story) {
		s.show()
		s.say(prose)
		time.Sleep(5 * time.Second)
		s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous})
		s.status("One", named("a"))
		time.Sleep(2 * time.Second)
		s.cancel(core.ErrCrashed)
		_ = s.wait()
		s.run.Epoch, s.run.Verdict = 2, &core.Verdict{Outcome: completed, Files: 1}
		s.show()
		s.say(prose)
		s.paint(named("b"))
		s.finish()
		s.wantShown(prose, "[b]")
	})
}

// DI-13: an intent of an older version does not say what it carries. With a verdict it counts as the last word, without
// one as a preview.
func TestIntentWithoutAHash(t *testing.T) {
	for verdict, want := range map[bool][]string{true: nil, false: {prose}} {
		tell(t, full, func(s *story) {
			s.run.Shown = []core.Shown{{Part: 0}}
			if verdict {
				s.run.Verdict = &core.Verdict{Outcome: completed}
			}
			s.show()
			s.say(prose)
			s.finish()
			s.wantShown(want...)
		})
	}
}

// ST-26: an intent says what it carries, since when, and whether that is the last word.
func TestIntentsSayWhatTheyCarry(t *testing.T) {
	tell(t, full, func(s *story) {
		s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/room", After: 30 * time.Second}})
		s.show()
		streamed(s)
		s.finish()
		var intents []core.Shown
		for _, h := range s.notes {
			if h.Sent != "" {
				intents = append(intents, h)
			}
		}
		if len(intents) != 2 || intents[0].Last || !intents[1].Last || intents[0].Sent == intents[1].Sent ||
			!intents[0].At.Equal(s.run.Opened) || !intents[1].At.After(s.run.Opened) {
			t.Errorf("noted %+v", s.notes)
		}
	})
}

// Without nonces, a preview of unknown fate is the last: the orphan is short, and there is one.
func TestNoPreviewAfterAnAmbiguousOne(t *testing.T) {
	tell(t, full, func(s *story) {
		s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true})
		s.show()
		streamed(s)
		time.Sleep(time.Minute)
		s.wantShown(half)
		s.finish()
		s.wantShown(half, prose)
	})
}
