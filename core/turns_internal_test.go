package core

import (
	"errors"
	"testing"
	"testing/synctest"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
)

// A mark says why, in brackets after text and plainly alone; what is whole has none.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		o    answer.Outcome
		err  error
		want string
	}{
		{answer.Outcome{Status: answer.Completed}, nil, ""},
		{answer.Outcome{Status: answer.Ignored}, chat.ErrNothingToSay, ""},
		{answer.Outcome{Status: answer.Stopped}, chat.ErrStopped, "Stopped."},
		{answer.Outcome{Status: answer.Superseded}, chat.ErrSuperseded, "Interrupted by a newer message."},
		{answer.Outcome{Status: answer.Failed, Failure: llm.RateLimited}, errors.New("429"), llm.RateLimited.Sentence()},
		{answer.Outcome{Status: answer.TimedOut, Failure: llm.GenerationTimeout}, chat.ErrTimeout, llm.GenerationTimeout.Sentence()},
		{answer.Outcome{Status: answer.Failed, Failure: llm.ProviderIssue}, errCutOff, "Interrupted by a restart. The action in progress was not repeated."},
	} {
		if got := endNote(c.o, c.err, true); got != c.want {
			t.Errorf("%v alone: %q", c.o, got)
		}
		if c.want != "" {
			c.want = "_(" + c.want + ")_"
		}
		if got := endNote(c.o, c.err, false); got != c.want {
			t.Errorf("%v after text: %q", c.o, got)
		}
	}
}

// IN-08: a wake-up that comes while a runner lets go is seen by it, or by its successor.
func TestWakeAroundRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		again := make(chan struct{}, 1)
		rt.scheduler.lanes[schedule.Lane{Room: "room"}] = again
		rt.scheduler.wake("room") // before it lets go
		if rt.scheduler.release(t.Context(), schedule.Lane{Room: "room"}, again) {
			t.Error("a runner left although it was asked to look again")
		}
		if !rt.scheduler.release(t.Context(), schedule.Lane{Room: "room"}, again) {
			t.Error("a runner stays for nothing")
		}
		rt.scheduler.wake("room") // after
		if _, ok := rt.scheduler.woken[schedule.Lane{Room: "room"}]; !ok || len(rt.scheduler.signal) != 1 {
			t.Error("a wake-up after the runner left is lost")
		}
	})
}
