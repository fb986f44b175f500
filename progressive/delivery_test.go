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
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
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
	"stale":             {Err: progressive.ErrStale},
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
	tell func(*delivery)
	but  map[string][]string // by fault, without nonces
	with map[string][]string // by fault, with nonces
	more map[string][]string // by fault, where a last word of unknown fate is sent once more; else as without nonces
}{
	"first post": {op: progressive.Post, tell: streamed,
		but: map[string][]string{"forbidden": nil, "ambiguous, done": {half, prose}, "silent": {half, prose}}, with: map[string][]string{"forbidden": nil}},
	"edit":       {op: progressive.Edit, tell: streamed, but: map[string][]string{"forbidden": {half}, "gone": nil, "stale": {half, prose}}},
	"final edit": {op: progressive.Edit, n: 1, tell: streamed, but: map[string][]string{"forbidden": {most}, "gone": nil, "stale": {most, prose}}},
	"final post": {op: progressive.Post, tell: func(s *delivery) { s.say(prose) },
		but:  map[string][]string{"forbidden": nil, "ambiguous, undone": nil},
		with: map[string][]string{"forbidden": nil},
		more: map[string][]string{"ambiguous, undone": {again(prose)}, "ambiguous, done": {prose, again(prose)}, "silent": {prose, again(prose)}}},
	"second post": {op: progressive.Post, n: 1, tell: func(s *delivery) { s.chat.Max = 82; s.say(prose) },
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
func streamed(s *delivery) {
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
				t.Run(name+"/"+fault+"/"+kind, subtest.With(withDelivery, sink, func(s *delivery) {
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
				}))
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
func (s *delivery) wantPlainOnce() {
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
	withDelivery(t, full, func(s *delivery) {
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
			t.Run(fault+"/"+name, subtest.With(withDelivery, full, func(s *delivery) {
				doubts := 0
				if before {
					s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous})
					doubts = 1
				}
				s.fail(progressive.Post, doubts, f)
				s.show()
				streamed(s)
				s.run.Verdict = &chat.Verdict{}
				s.a.End(completed)
				time.Sleep(120 * time.Millisecond)
				s.cancel(chat.ErrShutdown)
				_ = s.wait()
				s.mu.Lock()
				first := slices.DeleteFunc(slices.Clone(s.notes), func(h chat.Shown) bool { return !h.Gone && h.ID == "" })
				s.mu.Unlock()
				if !before && (len(first) == 0 || !first[0].Gone) {
					s.Errorf("noted %+v", s.notes)
				}
				if before && (len(s.run.Shown) == 0 && s.count(progressive.Post) == 2) {
					s.Errorf("the doubt is forgotten: %+v", s.notes)
				}
			}))
		}
	}
}

// ST-26: what could not even be sent is tried until it can be, at most a minute apart.
func TestUnsentLastWordWaitsForTheNetwork(t *testing.T) {
	for _, op := range []progressive.Op{progressive.Post, progressive.Edit} {
		t.Run(op.String(), subtest.With(withDelivery, full, func(s *delivery) {
			s.show()
			if op == progressive.Edit {
				streamed(s)
			}
			s.fail(op, -1, progressivetest.Fault{Err: progressive.ErrUnsent})
			if op == progressive.Post { // after the failure begins, which it could outrun
				s.say(prose)
			}
			s.run.Verdict = &chat.Verdict{}
			s.a.End(completed)
			time.Sleep(time.Hour)
			s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
				return nil
			})
			time.Sleep(61 * time.Second)
			s.wantShown(prose)
			_ = s.wait()
		}))
	}
}

// An unknown preview is not forgotten over a refusal of the final that follows.
func TestRefusedFinalAfterAmbiguousPreview(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous})
		s.fail(progressive.Post, 1, progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/room", After: time.Minute}})
		s.show()
		streamed(s)
		s.finish()
		s.wantShown(prose)
	})
}

// ST-21: people remove the answer while it is written, and the next edit, or the last one, finds that out. It ends there:
// nothing more is shown, and the owner of the surface hears why.
func TestRemovedAnswerEnds(t *testing.T) {
	for kind, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": nonced, "no nonces": resending} {
		for name, more := range map[string]string{"at an edit": prose[len(half):], "at the last word": ""} {
			t.Run(kind+"/"+name, subtest.With(withDelivery, sink, func(s *delivery) {
				s.show()
				s.say(half)
				time.Sleep(3 * time.Second)
				s.chat.Remove()
				s.say(more)
				time.Sleep(3 * time.Second)
				s.say(" The end.")
				if err := s.end(completed); !errors.Is(err, core.ErrRemoved) || !errors.Is(err, chat.ErrStopped) {
					s.Errorf("Show returned %v", err)
				}
				s.wantShown()
				if n := len(s.chat.Log(progressive.Post, progressive.Edit)); n != 2 {
					s.Errorf("%d requests; want 2", n)
				}
			}))
		}
	}
}

// The final was seen, and removed: it is not sent again.
func TestRemovedAfterTheFinalWasSeen(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
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

// A message that can't be changed any more stays, and the text goes into a new one, with another nonce.
func TestStaleMessage(t *testing.T) {
	for kind, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": nonced, "no nonces": full} {
		t.Run(kind, subtest.With(withDelivery, sink, func(s *delivery) {
			s.show()
			s.say(half)
			time.Sleep(3 * time.Second)
			s.fail(progressive.Edit, 0, progressivetest.Fault{Err: progressive.ErrStale})
			s.say(prose[len(half):])
			time.Sleep(3 * time.Second)
			s.finish()
			s.wantShown(half, prose)
		}))
	}
}

// ST-23: a last word that is refused for good is sent plain once, then in a new message, and then a line says that it is
// missing. That takes seconds, for others wait.
func TestLastWordIsRefusedForGood(t *testing.T) {
	for name, c := range map[string]struct {
		lead   func(*delivery)
		refuse func(r progressivetest.Request) bool
		err    error
		posts  int
		edits  int
		within time.Duration
		want   []string
	}{
		"its markup":              {streamed, func(r progressivetest.Request) bool { return r.Part.Text == prose }, errOther, 1, 3, 3 * time.Second, []string{prose}},
		"edits":                   {streamed, func(r progressivetest.Request) bool { return r.Op == progressive.Edit }, errOther, 2, 3, 3 * time.Second, []string{prose}},
		"its text":                {streamed, func(r progressivetest.Request) bool { return r.Part.Plain == prose }, errOther, 4, 3, 5 * time.Second, []string{lang.Voice{}.Say("message.missing")}},
		"the text of a create":    {func(*delivery) {}, func(r progressivetest.Request) bool { return r.Part.Plain == prose }, errOther, 4, 0, 3 * time.Second, []string{lang.Voice{}.Say("message.missing")}},
		"everything":              {streamed, func(r progressivetest.Request) bool { return true }, errOther, 4, 3, 5 * time.Second, []string{most}},
		"edits, with 5xx":         {streamed, func(r progressivetest.Request) bool { return r.Op == progressive.Edit }, progressive.ErrAmbiguous, 2, 8, 50 * time.Second, []string{prose}},
		"edits and deletions too": {streamed, func(r progressivetest.Request) bool { return r.Op != progressive.Post }, errOther, 2, 3, 5 * time.Second, []string{most, prose}},
	} {
		t.Run(name, subtest.With(withDelivery, full, func(s *delivery) {
			gate := &finalsOnly{Gate: s.gate}
			s.gate = gate
			s.show()
			c.lead(s)
			gate.closed.Store(true)
			s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
				return func(r progressivetest.Request) progressivetest.Fault {
					if r.Op != progressive.Typing && c.refuse(r) {
						return progressivetest.Fault{Err: c.err}
					}
					return progressivetest.Fault{}
				}
			})
			if s.count(progressive.Post) == 0 {
				s.say(prose)
			}
			begun := time.Now()
			s.finish()
			if took := time.Since(begun); took > c.within {
				s.Errorf("it took %v", took)
			}
			s.wantShown(c.want...)
			if posts, edits := s.count(progressive.Post), s.count(progressive.Edit); posts != c.posts || edits != c.edits {
				s.Errorf("%d posts and %d edits; want %d and %d", posts, edits, c.posts, c.edits)
			}
		}))
	}
}

// A create of the last word that is never answered is repeated while its nonce is good, at growing intervals.
func TestLastWordIsGivenUp(t *testing.T) {
	withDelivery(t, nonced, func(s *delivery) {
		gate := &finalsOnly{Gate: s.gate}
		s.gate = gate
		s.show()
		gate.closed.Store(true)
		s.fail(progressive.Post, -1, progressivetest.Fault{Err: progressive.ErrAmbiguous})
		s.say(prose)
		s.finish()
		var last, gap time.Duration
		tries := s.chat.Log(progressive.Post)
		for i, r := range tries {
			at := r.At.Sub(s.run.Opened)
			if i > 1 && at-last < gap {
				t.Errorf("try %d came %v after the one before", i+1, at-last)
			}
			gap, last = at-last, at
		}
		if len(tries) != 7 { // then the nonce is too old
			t.Errorf("%d tries; want 7", len(tries))
		}
	})
}

// finalsOnly gives no permit for text on the way once it is closed.
type finalsOnly struct {
	progressive.Gate
	closed atomic.Bool
}

func (g *finalsOnly) Enter(ctx context.Context, t progressive.Ticket) (func(error), error) {
	if g.closed.Load() && t.Priority < progressive.PriorityFinal {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return g.Gate.Enter(ctx, t)
}

// Interim failures are not repeated with each delta, and cost the final nothing.
func TestInterimFailuresBackOff(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
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
			t.Errorf("%d edits failed in a minute; want at least 4 and at most 8", n)
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
		t.Run(name, subtest.With(withDelivery, full, func(s *delivery) {
			s.fail(progressive.Delete, 0, f)
			s.show()
			s.say(prose)
			time.Sleep(3 * time.Second)
			require.NoError(s, s.end(answer.Outcome{Status: answer.Superseded, Withdrawn: true}))
			if f.Err == progressive.ErrForbidden || f.Err == progressive.ErrStale { // nothing more can be done
				s.wantShown(prose)
				return
			}
			s.wantShown()
			if len(s.run.Shown) != 0 {
				s.Errorf("noted %v; want none", s.run.Shown)
			}
		}))
	}
}

// Once there is a verdict, a part that an earlier holder was creating may be its last word.
func TestResumedFinalOfUnknownFate(t *testing.T) {
	for name, c := range map[string]struct {
		sink    func(*progressivetest.Chat) progressive.Sink
		verdict *chat.Verdict
		want    []string
	}{
		"verdict, no nonces":  {full, &chat.Verdict{}, []string{prose}},
		"verdict, nonces":     {nonced, &chat.Verdict{}, []string{prose}},
		"preview, no nonces":  {full, nil, []string{prose}}, // which was the whole text already
		"preview, with nonce": {nonced, nil, []string{prose}},
		"verdict, resent":     {resending, &chat.Verdict{}, []string{prose, again(prose)}},
		"preview, resent":     {resending, nil, []string{prose, again(prose)}},
	} {
		t.Run(name, subtest.With(withDelivery, c.sink, func(s *delivery) {
			s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true})
			s.show()
			s.say(prose)
			time.Sleep(500 * time.Millisecond)
			s.cancel(chat.ErrShutdown)
			_ = s.wait()
			s.run.Verdict = c.verdict
			s.show()
			s.say(prose)
			s.finish()
			if got := s.chat.Shown(); !slices.Equal(got, c.want) {
				s.Errorf("shown %q, want %q", got, c.want)
			}
		}))
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
		t.Run(name, subtest.With(withDelivery, c.sink, func(s *delivery) {
			s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: c.applied})
			s.show()
			s.say(half)
			time.Sleep(500 * time.Millisecond)
			s.cancel(chat.ErrCrashed)
			_ = s.wait()
			s.run.Epoch, s.run.Verdict = 2, &chat.Verdict{Outcome: completed} // and the next holder dies
			s.show()
			s.say(prose)
			s.finish()
			s.wantShown(c.want...)
		}))
	}
}

// ST-26: the same for a file that is posted while the answer is written.
func TestTwoDeathsLoseNoFile(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		s.say(prose)
		time.Sleep(5 * time.Second)
		s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous})
		s.status("One", named("a"))
		time.Sleep(2 * time.Second)
		s.cancel(chat.ErrCrashed)
		_ = s.wait()
		s.run.Epoch, s.run.Verdict = 2, &chat.Verdict{Outcome: completed, Files: 1}
		s.show()
		s.say(prose)
		s.addFiles(named("b"))
		s.finish()
		s.wantShown(prose, "[b]")
	})
}

// DI-13: an intent of an older version does not say what it carries. With a verdict it counts as the last word, without
// one as a preview.
func TestIntentWithoutAHash(t *testing.T) {
	for verdict, want := range map[bool][]string{true: nil, false: {prose}} {
		withDelivery(t, full, func(s *delivery) {
			s.run.Shown = []chat.Shown{{Part: 0}}
			if verdict {
				s.run.Verdict = &chat.Verdict{Outcome: completed}
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
	withDelivery(t, full, func(s *delivery) {
		s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/room", After: 30 * time.Second}})
		s.show()
		streamed(s)
		s.finish()
		var intents []chat.Shown
		for _, h := range s.notes {
			if h.Sent != "" {
				intents = append(intents, h)
			}
		}
		if len(intents) != 2 || intents[0].Last || !intents[1].Last || intents[0].Sent == intents[1].Sent {
			t.Fatalf("noted %+v", s.notes)
		}
		// The preview leaves at once, or a tick later where its text came after the first look.
		if wait := intents[0].At.Sub(s.run.Opened); wait < 0 || wait > time.Second || intents[1].At.Sub(intents[0].At) < 30*time.Second {
			t.Errorf("opened %v, noted %+v", s.run.Opened, s.notes)
		}
	})
}

// Without nonces, a preview of unknown fate is the last: the orphan is short, and there is one.
func TestNoPreviewAfterAnAmbiguousOne(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true})
		s.show()
		streamed(s)
		time.Sleep(time.Minute)
		s.wantShown(half)
		s.finish()
		s.wantShown(half, prose)
	})
}
