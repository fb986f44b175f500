package core_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/event"
)

// actions are the words of what was heard of calls, in order: STARTED, and the status with which they were completed.
func (d *eventLog) actions() (words []string) {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.all {
		switch e := e.(type) {
		case event.ActionStarted:
			words = append(words, e.Call+" STARTED")
		case event.ActionCompleted:
			words = append(words, e.Call+" "+string(e.Status))
		}
	}
	return words
}

// Every call that was started is completed once, on every path; one that never started is not heard of.
func TestActionEvents(t *testing.T) {
	ends := func(err error) func(context.Context, *action.Call) (action.Result, error) {
		return func(context.Context, *action.Call) (action.Result, error) { return action.Result{}, err }
	}
	heeds := func(ctx context.Context, _ *action.Call) (action.Result, error) {
		<-ctx.Done()
		return action.Result{}, context.Cause(ctx)
	}
	after := func(do func(w *harness, n *process)) func(*harness, *process) chat.Accepted {
		return func(w *harness, n *process) chat.Accepted {
			acc := n.sendText("go")
			time.Sleep(10 * time.Second)
			do(w, n)
			return acc
		}
	}
	say := func(_ *harness, n *process) chat.Accepted { return n.sendText("go") }
	const started = "c STARTED"
	for name, c := range map[string]struct {
		action *fakeAction
		params string
		play   func(*harness, *process) chat.Accepted
		want   []string
	}{
		"well":     {&fakeAction{}, "{}", say, []string{started, "c completed"}},
		"fails":    {&fakeAction{do: ends(errors.New("out of tea"))}, "{}", say, []string{started, "c failed"}},
		"panics":   {&fakeAction{do: func(context.Context, *action.Call) (action.Result, error) { panic("no tea") }}, "{}", say, []string{started, "c failed"}},
		"too slow": {&fakeAction{do: heeds, limit: time.Second}, "{}", say, []string{started, "c failed"}},
		"left behind": {&fakeAction{do: func(context.Context, *action.Call) (action.Result, error) {
			time.Sleep(70 * time.Second)
			return action.Result{}, nil
		}}, "{}", say, []string{started, "c failed"}},
		"quiet":       {&fakeAction{quiet: true}, "{}", say, []string{started, "c completed"}},
		"wrong":       {&fakeAction{}, "[", say, nil},
		"stopped":     {&fakeAction{do: heeds}, "{}", after(func(_ *harness, n *process) { n.stopAnswer(room) }), []string{started, "c stopped"}},
		"superseded":  {&fakeAction{do: heeds}, "{}", after(func(w *harness, n *process) { w.waitAnswer(n.sendText("no, wait")) }), []string{started, "c superseded"}},
		"out of time": {&fakeAction{do: heeds, limit: time.Hour}, "{}", say, []string{started, "c timeout"}},
		"writes, though it is stopped": {&fakeAction{do: takes(30 * time.Second), effect: action.Writes}, "{}",
			after(func(_ *harness, n *process) { n.stopAnswer(room) }), []string{started, "c completed"}},
		"shut down, and adopted": {&fakeAction{do: heeds, limit: time.Hour}, "{}", after(func(w *harness, n *process) { n.shutdown(); w.start() }),
			[]string{started, "c failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(w *harness) {
				d := &eventLog{}
				w.cfg.Observers = []event.Observer{d}
				w.cfg.Turns.Limit = 2 * time.Minute
				a := c.action
				a.name = "TEA"
				w.addActions(a)
				w.model.queue([]step{call(0, "c", "TEA", c.params)})
				w.waitAnswer(c.play(w, w.start()))
				time.Sleep(10 * time.Second) // for what is left behind
				if got := d.actions(); !slices.Equal(got, c.want) {
					w.Errorf("heard %q; want %q", got, c.want)
				}
			})
		})
	}
}

// What is said of a call is what it was asked, how long it took, and what came of it.
func TestActionEventsSayWhatHappened(t *testing.T) {
	withHarness(t, func(w *harness) {
		d := &eventLog{}
		w.cfg.Observers = []event.Observer{d}
		w.addActions(&fakeAction{name: "LIKE", schema: likes, do: takes(3 * time.Second)}, &fakeAction{name: "BREAK", do: func(context.Context, *action.Call) (action.Result, error) {
			return action.Result{Text: "half"}, errors.New("it is broken")
		}})
		w.model.queue([]step{call(0, "a", "like", `{"what":"tea"}`), call(1, "b", "BREAK", "{}")})
		acc := w.start().sendText("go")
		w.waitAnswer(acc)
		synctest.Wait()
		var ends []event.ActionCompleted
		for _, e := range d.all {
			if e, ok := e.(event.ActionCompleted); ok {
				ends = append(ends, e)
			}
		}
		if len(ends) != 2 {
			w.Fatalf("heard %+v; want 2", ends)
		}
		a, b := ends[0], ends[1]
		if a.Run != acc.Run || a.Entity != "ada" || a.Action != "LIKE" || string(a.Parameters) != `{"what":"tea"}` || a.Duration != 3*time.Second ||
			a.Result.Text != "done after a while" || a.Err != "" {
			w.Errorf("of the first: %+v", a)
		}
		if b.Action != "BREAK" || b.Result.Text != "" || b.Err != "it is broken" {
			w.Errorf("of the second: %+v", b)
		}
	})
}
