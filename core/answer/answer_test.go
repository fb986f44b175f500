package answer_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/answer"
	"parley/internal/subtest"
)

// Short ways to write changes.
func textChange(step int, s string) answer.Change {
	return answer.Change{Kind: answer.Text, Step: step, Text: s}
}

func said(call, s string) answer.Change {
	return answer.Change{Kind: answer.Callback, Call: call, Text: s}
}

func adds(call, s string) answer.Change { return answer.Change{Kind: answer.Text, Call: call, Text: s} }

func streams(call, chunk string) answer.Change {
	return answer.Change{Kind: answer.ToolStage, Call: call, Tool: &answer.Tool{Name: "T", Stage: answer.StageStreaming, ParametersChunk: chunk}}
}

func stage(call string, s answer.Stage) answer.Change {
	return answer.Change{Kind: answer.ToolStage, Call: call, Tool: &answer.Tool{Name: "T", Stage: s}}
}

func at(end answer.Cursor, c answer.Change) answer.Change {
	c.End = end
	return c
}

var done = answer.Outcome{Status: answer.Completed}

func answerOf(cs ...answer.Change) *answer.Answer {
	a := &answer.Answer{}
	for _, c := range cs {
		a.Apply(c)
	}
	return a
}

func TestSince(t *testing.T) {
	ended := answer.Change{Kind: answer.Ended, Outcome: &done}
	for name, c := range map[string]struct {
		changes []answer.Change
		since   answer.Cursor
		want    []answer.Change
	}{
		"nothing":                    {nil, 0, nil},
		"text joins":                 {[]answer.Change{textChange(0, "ab"), textChange(0, "cd"), textChange(0, "e")}, 0, []answer.Change{at(5, textChange(0, "abcde"))}},
		"from the middle of a text":  {[]answer.Change{textChange(0, "ab"), textChange(0, "cd")}, 3, []answer.Change{at(4, textChange(0, "d"))}},
		"texts of steps do not join": {[]answer.Change{textChange(0, "a"), textChange(1, "b")}, 0, []answer.Change{at(1, textChange(0, "a")), at(2, textChange(1, "b"))}},
		"empty text is nothing":      {[]answer.Change{textChange(0, ""), textChange(0, "a")}, 0, []answer.Change{at(1, textChange(0, "a"))}},
		"of a call its place and the newest": {
			[]answer.Change{said("c", "1"), textChange(0, "a"), said("c", "2"), said("c", "3")}, 0,
			[]answer.Change{at(1, said("c", "3")), at(2, textChange(0, "a")), at(4, said("c", "3"))},
		},
		"a text goes on around a callback that is gone": {
			[]answer.Change{said("c", "1"), textChange(0, "ab"), said("c", "2"), textChange(0, "cd"), said("c", "3")}, 2,
			[]answer.Change{at(3, textChange(0, "b")), at(6, textChange(0, "cd")), at(7, said("c", "3"))},
		},
		"a callback that is gone leaves its cursor usable": {
			[]answer.Change{said("c", "1"), textChange(0, "ab"), said("c", "2"), textChange(0, "cd"), said("c", "3")}, 4,
			[]answer.Change{at(6, textChange(0, "cd")), at(7, said("c", "3"))},
		},
		"what a call adds joins": {
			[]answer.Change{said("c", "1"), adds("c", "a"), adds("c", "b")}, 0, []answer.Change{at(1, said("c", "1")), at(3, adds("c", "ab"))},
		},
		"what was added goes with its callback": {
			[]answer.Change{said("c", "1"), adds("c", "ab"), textChange(0, "x"), said("c", "2"), adds("c", "cd"), said("c", "3"), adds("c", "e")}, 0,
			[]answer.Change{at(1, said("c", "3")), at(4, textChange(0, "x")), at(8, said("c", "3")), at(9, adds("c", "e"))},
		},
		"pieces of parameters join": {
			[]answer.Change{streams("c", `{"a`), streams("c", `":1`), streams("d", "{"), streams("c", "}")}, 2,
			[]answer.Change{at(6, streams("c", `a":1`)), at(7, streams("d", "{")), at(8, streams("c", "}"))},
		},
		"every stage and the end": {
			[]answer.Change{stage("c", answer.StageStart), stage("c", answer.StageRunning), stage("c", answer.StageRunning), stage("c", answer.StageEnd), ended}, 1,
			[]answer.Change{at(2, stage("c", answer.StageRunning)), at(3, stage("c", answer.StageRunning)), at(4, stage("c", answer.StageEnd)), at(5, ended)},
		},
		"nothing after the end": {[]answer.Change{textChange(0, "a"), ended, textChange(0, "b"), ended}, 1, []answer.Change{at(2, ended)}},
		"beyond all":            {[]answer.Change{textChange(0, "abc")}, ^answer.Cursor(0), nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := answerOf(c.changes...)
			got, next := a.Since(c.since)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if next != max(c.since, a.View().At) {
				t.Errorf("goes on from %d", next)
			}
		})
	}
}

// Mirrors may hear a change twice, or a part of it again.
func TestApplyIgnoresWhatItHas(t *testing.T) {
	a := answerOf(at(4, textChange(0, "abcd")), at(2, textChange(0, "ab")), at(6, textChange(0, "bcdef")), at(6, said("c", "old")), at(7, said("c", "1")))
	want := []answer.Segment{{Text: "abcdef"}, {Call: "c", Text: "1"}}
	if diff := cmp.Diff(want, a.View().Segments); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestViewText(t *testing.T) {
	for want, cs := range map[string][]answer.Change{
		"":              {stage("c", answer.StageStart)},
		"a":             {textChange(0, "a")},
		"a\n\nplaying":  {textChange(0, "a"), said("c", "loading"), said("c", "playing")},
		"a\n\nx\n\nb":   {textChange(0, "a"), stage("c", answer.StageStart), said("c", "x"), textChange(1, "b")},
		"a more\n\nx":   {textChange(0, "a"), said("c", "x"), textChange(0, " more")},
		"a\n\nb":        {textChange(0, "a"), said("c", "x"), said("c", ""), textChange(1, "b")},
		"first\n\nlast": {said("d", "first"), said("c", "last")},
		"1ab\n\nx":      {said("c", "1"), textChange(0, "x"), adds("c", "a"), adds("c", "b")},
		"2b":            {said("c", "1"), adds("c", "a"), said("c", "2"), adds("c", "b")},
	} {
		if got := answerOf(cs...).View().Text(); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

func TestHistory(t *testing.T) {
	a := answerOf(said("c", "loading"), said("c", " loading "), said("d", "x"), said("c", ""), said("c", "playing"), said("c", "loading"))
	want := []string{"loading", "x", "playing", "loading"}
	before := a.View()
	a.Apply(said("c", "more"))
	if diff := cmp.Diff(want, before.History); diff != "" {
		t.Errorf("a view has changed (-want +got):\n%s", diff)
	}
}

func TestWait(t *testing.T) {
	gone := errors.New("gone")
	for name, c := range map[string]struct {
		before []answer.Change
		at     answer.Cursor
		later  func(*answer.Answer, context.CancelCauseFunc) // a second later
		want   error
		waits  bool
	}{
		"something newer":          {[]answer.Change{textChange(0, "ab")}, 1, nil, nil, false},
		"nothing, then text":       {nil, 0, func(a *answer.Answer, _ context.CancelCauseFunc) { a.Apply(textChange(0, "x")) }, nil, true},
		"nothing, then the end":    {nil, 0, func(a *answer.Answer, _ context.CancelCauseFunc) { a.End(done) }, nil, true},
		"ended and read":           {[]answer.Change{{Kind: answer.Ended, Outcome: &done}}, 1, nil, io.EOF, false},
		"ended and not read":       {[]answer.Change{{Kind: answer.Ended, Outcome: &done}}, 0, nil, nil, false},
		"nothing, then abandoned":  {nil, 0, func(a *answer.Answer, _ context.CancelCauseFunc) { a.Abandon() }, answer.ErrLost, true},
		"nothing, then no context": {nil, 0, func(_ *answer.Answer, cancel context.CancelCauseFunc) { cancel(gone) }, gone, true},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			a := answerOf(c.before...)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			begun := time.Now()
			if c.later != nil {
				time.AfterFunc(time.Second, func() { c.later(a, cancel) })
			}
			if err := a.Wait(ctx, c.at); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("waiting gave %v", err)
			}
			if waited := time.Since(begun) > 0; waited != c.waits {
				t.Errorf("it waited: %v; want %v", waited, c.waits)
			}
		}))
	}
}

func TestAbandon(t *testing.T) {
	a := answerOf(textChange(0, "a"))
	a.Abandon()
	a.Apply(textChange(0, "b"))
	a.End(done)
	if err := a.Wait(t.Context(), 0); !errors.Is(err, answer.ErrLost) {
		t.Errorf("waiting gave %v", err)
	}
	if v := a.View(); v.Text() != "a" || v.Outcome.Done() {
		t.Errorf("it went on: %+v", v)
	}
	b := answerOf(textChange(0, "a"))
	b.End(done)
	b.Abandon()
	if err := b.Wait(t.Context(), 2); !errors.Is(err, io.EOF) {
		t.Errorf("an answer that has ended was abandoned: %v", err)
	}
}

func TestEnded(t *testing.T) {
	a := answerOf(textChange(0, "a"))
	early := a.Ended()
	select {
	case <-early:
		t.Error("Ended is closed before the end; want it open")
	default:
	}
	a.End(done)
	a.End(answer.Outcome{Status: answer.Failed})
	<-early
	<-a.Ended()
	if v := a.View(); v.Outcome != done || v.At != 2 {
		t.Errorf("it ended as %+v", v)
	}
}
