package core

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

func TestDue(t *testing.T) {
	now := time.Now()
	ready, soon := now, now.Add(3*time.Second)
	waiting := func(at time.Time) chat.Run { return chat.Run{Ready: at} }
	started := chat.Run{Epoch: 2, Ready: soon}
	for name, c := range map[string]struct {
		open   []chat.Run
		policy Policy
		want   time.Duration
	}{
		"ready":                                {[]chat.Run{waiting(ready)}, Supersede, 0},
		"ready long ago":                       {[]chat.Run{waiting(now.Add(-time.Hour))}, Queue, 0},
		"not ready":                            {[]chat.Run{waiting(soon)}, Supersede, 3 * time.Second},
		"started is not waited for":            {[]chat.Run{started}, Queue, 0},
		"a later turn has the room":            {[]chat.Run{waiting(soon), waiting(soon)}, Supersede, 0},
		"a later turn waits":                   {[]chat.Run{waiting(soon), waiting(ready)}, Queue, 3 * time.Second},
		"a later turn waits, and is collected": {[]chat.Run{waiting(soon), waiting(ready)}, Collect, 3 * time.Second},
	} {
		for i := range c.open {
			c.open[i].Response = chat.ResponseID(i + 1)
		}
		next, wait := TurnPolicy{Direct: c.policy, Group: c.policy}.due(c.open, now)
		if next.Response != 1 || wait != c.want {
			t.Errorf("%s: turn %d in %v; want the first in %v", name, next.Response, wait, c.want)
		}
	}
}

func TestTurnsPolicy(t *testing.T) {
	turns := TurnPolicy{Direct: Supersede, Group: Collect}
	for _, k := range []chat.RoomKind{chat.Self, chat.Direct, chat.Group, chat.VoiceDirect, chat.VoiceGroup, chat.Feed, chat.Thread, chat.WorldRoom, chat.Forum, chat.API} {
		want := Collect
		if k == chat.Self || k == chat.Direct || k == chat.VoiceDirect || k == chat.API {
			want = Supersede
		}
		if got := turns.policy(k); got != want {
			t.Errorf("%s: %s", k, got)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want answer.Status
	}{
		{nil, answer.Completed}, {errNothingToSay, answer.Ignored}, {chat.ErrSuperseded, answer.Superseded}, {chat.ErrStopped, answer.Stopped}, {chat.ErrTimeout, answer.TimedOut},
		{llm.ErrStalled, answer.Failed}, {errCutOff, answer.Failed}, {errors.New("any"), answer.Failed}, {fmt.Errorf("wrapped: %w", chat.ErrStopped), answer.Stopped},
	} {
		if got := statusOf(c.err); got != c.want {
			t.Errorf("%v: %s; want %s", c.err, got, c.want)
		}
	}
}

// A mark says why, in brackets after text and plainly alone; what is whole has none.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		o    answer.Outcome
		err  error
		want string
	}{
		{answer.Outcome{Status: answer.Completed}, nil, ""},
		{answer.Outcome{Status: answer.Ignored}, errNothingToSay, ""},
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
		rt.scheduler.lanes[lane{room: "room"}] = again
		rt.scheduler.wake("room") // before it lets go
		if rt.scheduler.release(t.Context(), lane{room: "room"}, again) {
			t.Error("a runner left although somebody asked it to look again")
		}
		if !rt.scheduler.release(t.Context(), lane{room: "room"}, again) {
			t.Error("a runner stays for nothing")
		}
		rt.scheduler.wake("room") // after
		if _, ok := rt.scheduler.woken[lane{room: "room"}]; !ok || len(rt.scheduler.signal) != 1 {
			t.Error("a wake-up after the runner left is lost")
		}
	})
}
