package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"parley/core"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/internal/subtest"
)

// A gateway could lose the second answer here: a second message comes while
// the first one's slow action runs, and the end of the first makes the second stale. Here the end of a run forgets nothing:
// the second is answered, anyone who wins the room, on one replica or two.
func TestSecondMessageDuringASlowAction(t *testing.T) {
	for _, c := range []struct {
		name      string
		policy    schedule.Policy
		elsewhere bool
		first     answer.Status
	}{
		{"supersede", schedule.Supersede, false, answer.Superseded}, {"supersede, elsewhere", schedule.Supersede, true, answer.Superseded},
		{"queue", schedule.Queue, false, answer.Completed}, {"queue, elsewhere", schedule.Queue, true, answer.Completed},
	} {
		t.Run(c.name, subtest.Of(withHarness, func(w *harness) {
			slow := &fakeAction{name: "WRITE", effect: action.Writes, do: takes(20 * time.Second)}
			w.cfg.Turns.Direct, w.cfg.Plugins = c.policy, []action.Plugin{{Name: "test", Actions: []action.Action{slow}}}
			d := w.recordEvents()
			a := w.start()
			b := a
			if c.elsewhere {
				b = w.start()
			}
			w.model.queue([]step{write(fox), call(0, "a", "WRITE", "{}")})
			first := a.sendText("A")
			time.Sleep(5 * time.Second)
			second := b.sendText("B")
			if o, _ := w.waitAnswer(first); o.Status != c.first {
				w.Errorf("the first ended as %+v", o)
			}
			w.wantAnswer(second, answer.Completed, "You said: B")
			third := a.sendText("C")
			w.wantAnswer(third, answer.Completed, "You said: C")
			for _, acc := range []chat.Accepted{first, second, third} {
				if got := d.of(acc.Run); len(got) != 2 {
					w.Errorf("of %s was heard %q: a run ends once; want 2", acc.Run, got)
				}
			}
		}))
	}
}

// whimsical is a tracker whose announcements come late, or not at all.
type whimsical struct {
	core.Tracker
	claim func(chat.ResponseID) (wait time.Duration, err error)
}

func (w *whimsical) Claim(ctx context.Context, a chat.AgentID, in chat.RoomID, id chat.ResponseID) (context.Context, error) {
	wait, err := w.claim(id)
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	if err != nil {
		return nil, err
	}
	return w.Tracker.Claim(ctx, a, in, id)
}

// IN-06, IN-09: turns are announced in any order, late, or to no user. The last one is answered, after all
// others and with all of them in its prompt.
func TestAnnouncementsOutOfOrder(t *testing.T) {
	for name, claim := range map[string]func(chat.ResponseID) (time.Duration, error){
		"the later first": func(id chat.ResponseID) (time.Duration, error) {
			return time.Duration(4-id) * 200 * time.Millisecond, nil
		},
		"all late": func(chat.ResponseID) (time.Duration, error) { return 900 * time.Millisecond, nil },
		"one lost": func(id chat.ResponseID) (time.Duration, error) {
			if id == 2 {
				return 0, errors.New("connection lost")
			}
			return 0, nil
		},
		"all lost": func(chat.ResponseID) (time.Duration, error) { return 0, errors.New("connection lost") },
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Tracker = &whimsical{w.tracker, claim}
			nodes := []*process{w.start(), w.start(), w.start()}
			for range 3 {
				w.model.queue([]step{pause(time.Second), write(fox), pause(2 * time.Second), write(" The end.")})
			}
			accepted := make([]chat.Accepted, 3)
			var wg sync.WaitGroup
			for i, n := range nodes {
				m := w.message(room, "ada", fmt.Sprint("message ", i))
				w.accepted = append(w.accepted, m.ID)
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 10 * time.Millisecond)
					var err error
					if accepted[i], err = n.ProcessMessage(w.Context(), m); err != nil {
						w.Error(err)
					}
				})
			}
			wg.Wait()
			for _, acc := range accepted {
				if o, _ := w.waitAnswer(acc); acc.Response == 3 && plain(o) != done {
					w.Errorf("the last ended as %+v", o)
				}
			}
			calls := w.model.requests()
			if last := calls[len(calls)-1].texts(); len(last) < 3 {
				w.Errorf("the last prompt holds %q; want at least 3", last)
			}
		}))
	}
}

// IN-06, IN-07, IN-08, IN-09: any interleaving of messages and stops on three replicas with one store. At most one run of
// a room is at work at a time, every message is accounted for, and nothing that was accepted waits forever. The
// invariants are held against what the model and the chat have seen.
func TestAnyInterleavingOnReplicas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policy := rapid.SampledFrom([]schedule.Policy{schedule.Supersede, schedule.Queue, schedule.Collect}).Draw(rt, "policy")
		type happening struct {
			After time.Duration
			Node  int
			Stop  bool
		}
		story := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) happening {
			return happening{
				After: time.Duration(rapid.IntRange(0, 4000).Draw(rt, "ms")) * time.Millisecond,
				Node:  rapid.IntRange(0, 2).Draw(rt, "node"), Stop: rapid.IntRange(0, 7).Draw(rt, "stop") == 0,
			}
		}), 1, 9).Draw(rt, "story")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 3000), len(story), len(story)).Draw(rt, "pauses")
		withHarness(t, func(w *harness) {
			w.cfg.Turns.Direct = policy
			nodes := []*process{w.start(), w.start(), w.start()}
			for _, ms := range pauses {
				w.model.queue([]step{write(fox), pause(time.Duration(ms) * time.Millisecond), write(" The end.")})
			}
			var all []chat.Accepted
			stopped := false
			for i, h := range story {
				time.Sleep(h.After)
				if h.Stop {
					nodes[h.Node].stopAnswer(room)
					stopped = true
					continue
				}
				stopped = false
				all = append(all, nodes[h.Node].sendText(fmt.Sprint("message ", i)))
			}
			for i, acc := range all {
				o, _ := w.waitAnswer(acc)
				if last := i == len(all)-1 && !stopped; last && plain(o) != done {
					rt.Errorf("the last ended as %+v", o)
				}
			}
			synctest.Wait()
			if open, err := w.Store.OpenRooms(w.Context()); err != nil || len(open) > 0 {
				rt.Errorf("open are %q, %v; want none", open, err)
			}
		})
	})
}

// IN-08: what is said right after a stop is answered: it joins no turn that the stop has ended before its time.
func TestSaidAfterAStop(t *testing.T) {
	for name, c := range map[string]struct {
		turns  schedule.TurnPolicy
		before int // messages that are being answered, or wait
	}{
		"collected":    {schedule.TurnPolicy{Direct: schedule.Collect}, 2},
		"in a window":  {schedule.TurnPolicy{Direct: schedule.Supersede, Window: 5 * time.Second}, 1},
		"queued":       {schedule.TurnPolicy{Direct: schedule.Queue}, 3},
		"one by one":   {schedule.TurnPolicy{Direct: schedule.Supersede}, 1},
		"nothing open": {schedule.TurnPolicy{Direct: schedule.Collect}, 0},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Turns.Direct, w.cfg.Turns.Window = c.turns.Direct, c.turns.Window
			n, other := w.start(), w.start()
			w.model.queue([]step{write(fox), pause(time.Minute)})
			var stopped []chat.Accepted
			for range c.before {
				stopped = append(stopped, n.sendText("No"))
				time.Sleep(time.Second)
			}
			w.model.clear()
			other.stopAnswer(room)
			o, said := w.waitAnswer(n.sendText("Yes"))
			if plain(o) != done || !strings.Contains(said, "Yes") {
				w.Errorf(`it ended as %+v and said %q; want %+v and it to contain "Yes"`, o, said, done)
			}
			for _, acc := range stopped {
				if o, _ := w.waitAnswer(acc); o.Status != answer.Stopped {
					w.Errorf("before that: %+v", o)
				}
			}
		}))
	}
}
