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
	"parley/core/relay"
	"parley/core/schedule"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/internal/subtest"
)

// lossyBus loses frames.
type lossyBus struct {
	relay.Bus
	drops func(relay.Frame) bool

	mu     sync.Mutex
	frames []relay.Frame // that it carried
}

func (b *lossyBus) Publish(ctx context.Context, in chat.RoomID, f relay.Frame) error {
	b.mu.Lock()
	lost := b.drops != nil && b.drops(f)
	if !lost {
		b.frames = append(b.frames, f)
	}
	b.mu.Unlock()
	if lost {
		return nil
	}
	return b.Bus.Publish(ctx, in, f)
}

// A reader on another replica sees a snapshot, then what is added, and the end, without waiting for the store.
func TestWatchElsewhere(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		bus := &lossyBus{Bus: w.bus}
		w.cfg.Bus = bus
		a, b := w.start(), w.start()
		w.model.queue([]step{write("One "), pause(3 * time.Second), write("two "), pause(3500 * time.Millisecond), write("three.")})
		acc := a.sendText("A")
		time.Sleep(time.Second)
		begun := time.Now()
		cs, v, err := b.readAnswer(acc.Run)
		w.Must(err)
		if took := time.Since(begun); v.Text() != "One two three." || v.Outcome.Status != answer.Completed || took > 5600*time.Millisecond {
			w.Errorf("after %v the reader sees %q, %+v", took, v.Text(), v.Outcome)
		}
		if len(cs) != 4 || cs[0].Text != "One " || cs[1].Text != "two " {
			w.Errorf("it came as %+v", cs)
		}
		snapshots := 0
		for _, f := range bus.frames {
			if len(f.Changes) > 0 && f.From == 0 {
				snapshots++
			}
		}
		if snapshots > 2 {
			w.Errorf("the whole was carried %d times; want at most 2", snapshots)
		}
	})
}

// What no user watches elsewhere is not carried.
func TestNobodyWatches(t *testing.T) {
	withHarness(t, func(w *harness) {
		bus := &lossyBus{Bus: w.bus}
		w.cfg.Bus = bus
		n := w.start()
		w.model.queue([]step{write(fox), pause(time.Minute), write(fox)})
		w.waitAnswer(n.sendText("A"))
		if len(bus.frames) > 0 {
			w.Errorf("carried were %+v; want none", bus.frames)
		}
	})
}

// DI-04: the bus is a hint. Where it loses frames, readers converge; where it loses all, the store tells the end.
func TestWatchWithALossyBus(t *testing.T) {
	every := func(k int) func(relay.Frame) bool {
		n := 0
		return func(relay.Frame) bool { n++; return n%k == 0 }
	}
	for name, loses := range map[string]func(relay.Frame) bool{
		"all": func(relay.Frame) bool { return true }, "every third": every(3), "every second": every(2),
		"questions": func(f relay.Frame) bool { return len(f.Changes) == 0 },
		"the end": func(f relay.Frame) bool {
			return len(f.Changes) > 0 && f.Changes[len(f.Changes)-1].Kind == answer.Ended
		},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.watchOnly()
			w.cfg.Bus = &lossyBus{Bus: w.bus, drops: loses}
			a, b := w.start(), w.start()
			script := slices.Repeat([]step{write("word "), pause(700 * time.Millisecond)}, 20)
			w.model.queue(script)
			acc := a.sendText("A")
			time.Sleep(time.Second)
			_, v, err := b.readAnswer(acc.Run)
			if errors.Is(err, answer.ErrLost) { // as anyone who watches has to
				_, v, err = b.readAnswer(acc.Run)
			}
			w.Must(err)
			if v.Text() != strings.Repeat("word ", 20) || plain(v.Outcome) != done {
				w.Errorf("the reader sees %q, %+v", v.Text(), v.Outcome)
			}
			o, _ := w.waitAnswer(acc)
			if r := w.run(acc); plain(o) != done || time.Since(r.Opened) > 20*700*time.Millisecond+2500*time.Millisecond {
				w.Errorf("seen %v after the start", time.Since(r.Opened))
			}
		}))
	}
}

// A bus that drops its subscribers is subscribed to again, on both sides (DI-03).
func TestBusComesBack(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		bus := &cutBus{Bus: w.bus}
		w.cfg.Bus = bus
		a, b := w.start(), w.start()
		w.model.queue([]step{write("One "), pause(20 * time.Second), write("two "), pause(time.Hour)})
		acc := a.sendText("A")
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		answer := require.Value(b.Watch(ctx, acc.Run))(w)
		time.Sleep(time.Second)
		bus.cut()
		time.Sleep(30 * time.Second)
		if got := answer.View().Text(); got != "One two " {
			w.Errorf("ten seconds later the reader still sees %q", got)
		}
		a.stopAnswer(room)
		w.waitAnswer(acc)
	})
}

// cutBus can close all channels early.
type cutBus struct {
	relay.Bus
	mu   sync.Mutex
	cuts []context.CancelFunc
}

func (b *cutBus) Subscribe(ctx context.Context, in chat.RoomID) (<-chan relay.Frame, error) {
	ctx, cancel := context.WithCancel(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cuts = append(b.cuts, cancel)
	return b.Bus.Subscribe(ctx, in)
}

func (b *cutBus) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.cuts {
		c()
	}
	b.cuts = nil
}

// The death of a holder is noticed within its 15 seconds and a sweep. Readers elsewhere are told that the answer goes
// on as another one, and find it.
func TestHolderDies(t *testing.T) {
	withHarness(t, func(w *harness) {
		p := &gatewaytest.Faults{}
		a := w.startFaulty(p)
		b := w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)}, []step{pause(time.Second), write("Adopted.")})
		acc := a.sendText("A")
		var lost int
		var last answer.View
		read := make(chan error)
		go func() {
			for {
				_, v, err := b.readAnswer(acc.Run)
				if last = v; !errors.Is(err, answer.ErrLost) {
					read <- err
					return
				}
				lost++
			}
		}()
		time.Sleep(2 * time.Second)
		died := time.Now()
		p.Kill()
		a.shutdown()
		c := b.sendText("B") // waits for its turn: B's replica must not pass over the run that it can't have
		w.waitAnswer(acc)
		if took := time.Since(died); took < 10*time.Second || took > 25*time.Second {
			w.Errorf("adopted after %v", took)
		}
		w.Must(<-read)
		if lost != 1 || !last.Outcome.Done() {
			w.Errorf("lost %d times, then saw %+v", lost, last)
		}
		w.wantAnswer(c, answer.Completed, "Adopted.")
	})
}

// A run that a planned stop cuts off is free at once: the next look of another replica adopts it, and does not wait until the lease
// of the replica that stopped runs out.
func TestPlannedStopFreesItsRuns(t *testing.T) {
	withHarness(t, func(w *harness) {
		a := w.start()
		time.Sleep(time.Second) // the replicas look at different times
		w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)}, []step{write("Adopted.")})
		acc := a.sendText("A")
		time.Sleep(6 * time.Second)
		stopped := time.Now()
		a.shutdown()
		w.wantAnswer(acc, answer.Completed, "Adopted.")
		if took := time.Since(stopped); took > schedule.HeartbeatEvery+time.Second {
			w.Errorf("it ended %v after the stop", took)
		}
		if deaths := w.run(acc).Deaths; deaths != 0 {
			w.Errorf("%d deaths are counted; want none", deaths)
		}
	})
}

// A message that comes in where the holder is not is answered at once when the holder's run ends; under supersede it
// ends that run.
func TestSecondMessageElsewhere(t *testing.T) {
	for policy, want := range map[schedule.Policy]answer.Status{schedule.Supersede: answer.Superseded, schedule.Queue: answer.Completed} {
		t.Run(string(policy), subtest.Of(withHarness, func(w *harness) {
			w.cfg.Turns.Direct = policy
			a, b := w.start(), w.start()
			w.model.queue([]step{write(fox), pause(time.Minute)})
			first := a.sendText("A")
			time.Sleep(time.Second)
			said := time.Now()
			second := b.sendText("B")
			o, _ := w.waitAnswer(first)
			if took := time.Since(said); policy == schedule.Supersede && took > 200*time.Millisecond {
				w.Errorf("the first ended %v after the second message", took)
			}
			if o.Status != want {
				w.Errorf("the first ended as %+v", o)
			}
			begun := time.Now()
			w.wantAnswer(second, answer.Completed, "You said: B")
			if time.Since(begun) > time.Second {
				w.Errorf("the second was answered %v after the first", time.Since(begun))
			}
		}))
	}
}

// DI-11
func TestStopReachesTheOtherReplica(t *testing.T) {
	withHarness(t, func(w *harness) {
		a, b := w.start(), w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)})
		acc := a.sendText("A")
		time.Sleep(time.Second)
		stopped := time.Now()
		b.stopAnswer(room)
		w.wantAnswer(acc, answer.Stopped, fox+"\n\n_(Stopped.)_")
		if took := time.Since(stopped); took > 200*time.Millisecond { // on the clock of the bubble: nothing looked for it later
			w.Errorf("it took %v", took)
		}
	})
}

// IN-06 on four replicas: one run at a time, everything accounted for, the last one answered.
func TestHundredMessagesOnFourReplicas(t *testing.T) {
	withHarness(t, func(w *harness) {
		var nodes []*process
		for range 4 {
			nodes = append(nodes, w.start())
		}
		accepted := make([]chat.Accepted, 100)
		var wg sync.WaitGroup
		for i := range accepted {
			m := w.message(room, "ada", strings.Repeat("x", i+1))
			w.accepted = append(w.accepted, m.ID)
			wg.Go(func() {
				var err error
				if accepted[i], err = nodes[i%4].ProcessMessage(w.Context(), m); err != nil {
					w.Error(err)
				}
			})
		}
		wg.Wait()
		last := slices.MaxFunc(accepted, func(a, b chat.Accepted) int { return int(a.Response) - int(b.Response) })
		if o, _ := w.waitAnswer(last); plain(o) != done {
			w.Errorf("the last ended as %+v; want %+v", o, done)
		}
		synctest.Wait()
	})
}

// The same run is watched and then adopted here: the answer that readers hold is not the one that is written.
func TestWatchedRunIsAdoptedHere(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		p := &gatewaytest.Faults{}
		a := w.startFaulty(p)
		b := w.start()
		w.model.queue([]step{write("One"), pause(time.Hour)}, []step{pause(time.Minute), write("Two")})
		acc := a.sendText("A")
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		before := require.Value(b.Watch(ctx, acc.Run))(w)
		time.Sleep(2500 * time.Millisecond)
		p.Kill()
		a.shutdown()
		for w.run(acc).Epoch < 2 {
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if err := before.Wait(ctx, before.View().At); !errors.Is(err, answer.ErrLost) {
			w.Errorf("the reader waits, with %v", err)
		}
		_, v, err := b.readAnswer(acc.Run)
		w.Must(err)
		if v.Text() != "Two" || before.View().Text() != "One" {
			w.Errorf(`readers see %q and %q; want "Two" and "One"`, before.View().Text(), v.Text())
		}
	})
}

func TestWatchOfWhatIsNot(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		if _, err := n.Watch(w.Context(), "nothing"); !errors.Is(err, chat.ErrNotFound) {
			w.Errorf("watching gave %v", err)
		}
		acc := n.sendText("A")
		w.waitAnswer(acc)
		_, v, err := n.readAnswer(acc.Run)
		w.Must(err)
		if v.Text() != "You said: A" || plain(v.Outcome) != done {
			w.Errorf("a run of the past is %+v", v)
		}
	})
}

// DI-11: a choice that is made where the holder is not reaches it at once; without the bus, a little later.
func TestChoiceElsewhere(t *testing.T) {
	for name, tt := range map[string]struct {
		loses func(relay.Frame) bool
		most  time.Duration
	}{
		"with the bus":       {func(relay.Frame) bool { return false }, 200 * time.Millisecond},
		"the bus loses it":   {func(f relay.Frame) bool { return f.Chosen }, 3 * time.Second},
		"the bus loses all":  {func(relay.Frame) bool { return true }, 3 * time.Second},
		"every second frame": {func() func(relay.Frame) bool { n := 0; return func(relay.Frame) bool { n++; return n%2 == 0 } }(), 3 * time.Second},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Bus = &lossyBus{Bus: w.bus, drops: tt.loses}
			w.addActions(&fakeAction{name: "PLAY", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
				q, err := c.Choose(ctx, "Which one?", chat.Question{Options: []string{"Dunes", "Rain"}})
				if err != nil {
					return action.Result{}, err
				}
				return action.Result{Text: q.Options[q.Choice]}, nil
			}})
			a, b := w.start(), w.start()
			w.model.queue([]step{call(0, "a", "PLAY", "{}")}, []step{write("Playing.")})
			acc := a.sendText("play")
			time.Sleep(3300 * time.Millisecond)
			chosen := time.Now()
			b.deliver(chat.Choice(pressed(w.question(acc), 1)))
			o, _ := w.waitAnswer(acc)
			if took := time.Since(chosen); o.Status != answer.Completed || took > tt.most {
				w.Errorf("%v after the choice the answer is %+v", took, o)
			}
		}))
	}
}
