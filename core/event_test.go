package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/subtest"
)

// eventLog writes down what it hears.
type eventLog struct {
	mu  sync.Mutex
	all []event.Event
}

func (d *eventLog) Observe(e event.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, e)
}

// of are the words of what was heard of a run, in order: started, and the status it ended with.
func (d *eventLog) of(id chat.RunID) (words []string) {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.all {
		switch e := e.(type) {
		case event.RunStarted:
			if e.Run == id {
				words = append(words, "started")
			}
		case event.RunEnded:
			if e.Run == id {
				words = append(words, string(e.Status))
			}
		case event.RunTimeout:
			if e.Run == id {
				words = append(words, "RunTimeout "+string(e.Status))
			}
		}
	}
	return words
}

type observerFunc func(event.Event)

func (f observerFunc) Observe(e event.Event) { f(e) }

// Every run that was started ends once, on every path.
func TestRunEvents(t *testing.T) {
	for name, c := range map[string]struct {
		play func(w *harness, n *process) chat.Accepted
		want []string
	}{
		"answered": {func(_ *harness, n *process) chat.Accepted { return n.sendText("Hello") }, []string{"started", "completed"}},
		"failed": {func(w *harness, n *process) chat.Accepted {
			w.model.queue([]step{fails(&llm.Failure{Kind: llm.NoProvider, Err: errors.New("401")})})
			return n.sendText("Hello")
		}, []string{"started", "failed"}},
		"too long": {func(w *harness, n *process) chat.Accepted {
			w.model.queue([]step{pause(time.Hour)})
			return n.sendText("Hello")
		}, []string{"started", "RunTimeout timeout"}},
		"stopped": {func(w *harness, n *process) chat.Accepted {
			w.model.queue([]step{write(fox), pause(time.Minute)})
			acc := n.sendText("Hello")
			time.Sleep(time.Second)
			n.stopAnswer(room)
			return acc
		}, []string{"started", "stopped"}},
		"superseded at work": {func(w *harness, n *process) chat.Accepted {
			w.model.queue([]step{write(fox), pause(time.Minute)})
			acc := n.sendText("Hello")
			time.Sleep(time.Second)
			w.waitAnswer(n.sendText("No, wait"))
			return acc
		}, []string{"started", "superseded"}},
		"superseded before it began": {func(w *harness, n *process) chat.Accepted {
			w.model.queue([]step{write(fox), pause(time.Minute)})
			n.sendText("Hello")
			acc := n.sendText("No, wait")
			w.waitAnswer(n.sendText("Now then"))
			return acc
		}, []string{"started", "superseded"}},
		"ignored": {func(w *harness, n *process) chat.Accepted {
			w.waitAnswer(n.send(w.message(room, "eve", "Hello")))
			return n.send(w.message(room, "eve", "Hello?"))
		}, []string{"started", "ignored"}},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			d := &eventLog{}
			w.cfg.Turns.First, w.cfg.Turns.Idle, w.cfg.Turns.Limit = 2*time.Hour, 2*time.Hour, 2*time.Minute
			w.cfg.Plugins = []action.Plugin{{Name: "diary", Observers: []event.Observer{d}}}
			n := w.start()
			acc := c.play(w, n)
			w.waitAnswer(acc)
			if got := d.of(acc.Run); !slices.Equal(got, c.want) {
				w.Errorf("heard %q; want %q", got, c.want)
			}
		}))
	}
}

// A run that a shutdown cuts off has not ended. Who adopts it says so.
func TestRunEventsOfAnAdoptedRun(t *testing.T) {
	withHarness(t, func(w *harness) {
		d := &eventLog{}
		w.cfg.Observers = []event.Observer{d}
		w.model.queue([]step{write(fox), pause(time.Hour)})
		n := w.start()
		acc := n.sendText("Hello")
		time.Sleep(time.Second)
		n.shutdown()
		if got := d.of(acc.Run); !slices.Equal(got, []string{"started"}) {
			w.Errorf("after the shutdown: %q", got)
		}
		w.start()
		w.waitAnswer(acc)
		if got := d.of(acc.Run); !slices.Equal(got, []string{"started", "started", "completed"}) {
			w.Errorf("after the adoption: %q", got)
		}
	})
}

func TestEventsSayWhatHappened(t *testing.T) {
	withHarness(t, func(w *harness) {
		d := &eventLog{}
		w.cfg.Observers = []event.Observer{d}
		w.model.queue([]step{pause(3 * time.Second), fails(&llm.Failure{Kind: llm.NoProvider, Err: errors.New("the key sk-1 is wrong")})})
		n := w.start()
		m := w.message(room, "ada", "Hello")
		begun := time.Now()
		acc := n.send(m)
		n.send(m)
		w.waitAnswer(acc)
		if len(d.all) != 5 {
			w.Fatalf("heard %+v; want 5", d.all)
		}
		info := event.RunInfo{Run: acc.Run, Message: m.ID, Room: room, Entity: "ada", Source: "fake"}
		for _, e := range d.all {
			switch e := e.(type) {
			case event.MessageReceived:
				if e.Message.ID != m.ID || e.Accepted != acc {
					w.Errorf("received %+v", e)
				}
			case event.MessageSent:
				if e.RunInfo != info || e.Message.ID != chat.MemoryID(acc.Run) || e.Message.Text != llm.NoProvider.Sentence(lang.Voice{}) {
					w.Errorf("sent %+v", e)
				}
			case event.RunStarted:
				info.Start = e.Start
				if e.RunInfo != info || !e.Start.Equal(begun) {
					w.Errorf("started %+v; want %+v at %v", e, info, begun)
				}
			case event.ModelUsed:
				if e.Took != 3*time.Second || !e.Estimated || e.Usage.Prompt == 0 || e.Usage.Completion != 0 {
					w.Errorf("used %+v", e)
				}
			case event.RunEnded:
				end := event.RunEnd{End: begun.Add(3 * time.Second), Duration: 3 * time.Second, Status: answer.Failed, Err: llm.NoProvider.Sentence(lang.Voice{})}
				if e.RunInfo != info || !e.End.Equal(end.End) || e.Duration != end.Duration || e.Status != end.Status || e.Err != end.Err {
					w.Errorf("ended %+v; want %+v", e, end)
				}
			}
		}
	})
}

// Observers that hang or break harm no user: not the runs, not each other, not the end of the process.
func TestObserversHarmNobody(t *testing.T) {
	withHarness(t, func(w *harness) {
		d, free := &eventLog{}, make(chan struct{})
		defer close(free)
		w.cfg.Observers = []event.Observer{
			observerFunc(func(event.Event) { <-free }), observerFunc(func(event.Event) { panic("the observer is broken") }), d,
		}
		n := w.start()
		const many = 150
		for range many {
			w.wantAnswer(n.sendText("Hello"), answer.Completed, "You said: Hello")
		}
		synctest.Wait()
		if len(d.all) != 5*many {
			w.Errorf("the diary holds %d events; want %d", len(d.all), 5*many)
		}
		if missed := n.MissedEvents(); missed != 5*many-256-1 {
			w.Errorf("%d events were missed", missed)
		}
		if log := w.Logged.String(); strings.Count(log, "events were dropped") != 1 || !strings.Contains(log, "the observer is broken") {
			w.Error("the log does not tell of slow and broken observers")
		}
		n.shutdown()
	})
}

// actions returns a word for each event of a call, in order: STARTED, and the status with which it was completed.
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
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			d := &eventLog{}
			w.cfg.Observers = []event.Observer{d}
			w.cfg.Turns.Limit = 2 * time.Minute
			a := c.action
			a.name = "TEA"
			w.addActions(a)
			w.model.queue([]step{call(0, "c", "TEA", c.params)})
			w.waitAnswer(c.play(w, w.start()))
			time.Sleep(10 * time.Second) // for late events
			if got := d.actions(); !slices.Equal(got, c.want) {
				w.Errorf("heard %q; want %q", got, c.want)
			}
		}))
	}
}

// The events of a call contain its parameters, its duration and its result.
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
