package core_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/gatewaytest"
	"parley/internal/subtest"
)

// A gateway could lose B's answer here.
func TestSupersede(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)})
		a := n.sendText("A")
		time.Sleep(2 * time.Second)
		asked := time.Now()
		b := n.sendText("B")
		w.wantAnswer(b, answer.Completed, "You said: B")
		w.wantAnswer(a, answer.Superseded, fox+"\n\n_(Interrupted by a newer message.)_")
		calls := w.model.requests()
		if !calls[0].To.Equal(asked) {
			w.Errorf("A's model call went on for %v", calls[0].To.Sub(asked))
		}
		want := []string{"A", fox + "\n\n_(Interrupted by a newer message.)_", "B"}
		if diff := cmp.Diff(want, calls[1].texts()); diff != "" {
			w.Errorf("B's prompt (-want +got):\n%s", diff)
		}
	})
}

// An action that has changed something is not taken back with the few words before it: users and later prompts would not know of it.
func TestSupersededWriteStays(t *testing.T) {
	for effect, stays := range map[action.Effect]bool{action.Writes: true, action.Reads: false} {
		withHarness(t, func(w *harness) {
			lamp := &fakeAction{name: "LAMP", effect: effect}
			w.addActions(lamp)
			n := w.start()
			w.model.queue([]step{write("Okay."), call(0, "c", "LAMP", "{}")}, []step{pause(time.Hour)})
			a := n.sendText("Lamp on")
			time.Sleep(5 * time.Second)
			b := n.sendText("What time is it?")
			w.waitAnswer(b)
			o, said := w.waitAnswer(a)
			if o.Status != answer.Superseded || o.Withdrawn == stays || lamp.times() != 1 {
				w.Errorf("effect %v: the answer ended as %+v; withdrawn is to be %v", effect, o, !stays)
			}
			if want := "Interrupted by a newer message."; strings.Contains(said, want) != stays {
				w.Errorf("effect %v: stored is %q", effect, said)
			}
			w.accepted = nil
			w.chat.forgetSeen()
		})
	}
}

func TestQueue(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Direct = schedule.Queue
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("first")})
		a, b, c := n.sendText("A"), n.sendText("B"), n.sendText("C")
		w.wantAnswer(c, answer.Completed, "You said: C")
		w.wantAnswer(a, answer.Completed, "first")
		w.wantAnswer(b, answer.Completed, "You said: B")
		if got := w.model.requests()[1].texts(); !slices.Equal(got, []string{"A", "first", "B"}) {
			w.Errorf("B's prompt holds %q: later messages are none of its business", got)
		}
	})
}

func TestCollect(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Direct = schedule.Collect
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("first")})
		a := n.sendText("A")
		time.Sleep(time.Second)
		b, c := n.sendText("B"), n.sendText("C")
		if b.Run != c.Run || a.Run == b.Run {
			w.Errorf("the runs are %s, %s, %s", a.Run, b.Run, c.Run)
		}
		w.wantAnswer(c, answer.Completed, "You said: C")
		w.wantModelCalls(2)
	})
}

// IN-06: whatever the policy, one run at a time, and every message is accounted for.
func TestHundredMessagesAtOnce(t *testing.T) {
	for policy, many := range map[schedule.Policy]int{schedule.Supersede: 100, schedule.Collect: 100, schedule.Queue: 10, schedule.Steer: 10} {
		t.Run(string(policy), subtest.Of(withHarness, func(w *harness) {
			w.cfg.Turns.Direct = policy
			n := w.start()
			var in []chat.Message
			for i := range many {
				in = append(in, w.message(room, "ada", fmt.Sprint("message ", i)))
			}
			var wg sync.WaitGroup
			accepted := make([]chat.Accepted, len(in))
			for i, m := range in {
				w.accepted = append(w.accepted, m.ID)
				wg.Go(func() {
					acc, err := n.ProcessMessage(w.Context(), m)
					if err != nil {
						w.Error(err)
					}
					accepted[i] = acc
				})
			}
			wg.Wait()
			statuses := map[answer.Status]int{}
			var last chat.Run
			for _, acc := range accepted {
				o, _ := w.waitAnswer(acc)
				statuses[o.Status]++
				if r := w.run(acc); r.Response > last.Response {
					last = r
				}
			}
			w.chat.forgetSeen() // the mark of joined messages is not stored
			if last.Outcome.Status != answer.Completed && policy != schedule.Steer {
				w.Errorf("the last turn ended as %+v", last.Outcome)
			}
			if statuses[answer.Completed]+statuses[answer.Superseded] != many || (policy == schedule.Queue || policy == schedule.Collect) && statuses[answer.Superseded] > 0 {
				w.Errorf("they ended as %v", statuses)
			}
		}))
	}
}

// IN-08: a message in any window around the end of a run is answered, at once.
func TestMessageAroundTheEndOfARun(t *testing.T) {
	for _, policy := range []schedule.Policy{schedule.Supersede, schedule.Queue, schedule.Collect, schedule.Steer} {
		withHarness(t, func(w *harness) {
			w.cfg.Turns.Direct = policy
			w.chat.slow = time.Millisecond
			n := w.start()
			for offset := -4 * time.Millisecond; offset <= 4*time.Millisecond; offset += time.Millisecond / 2 {
				w.model.queue([]step{pause(time.Second), write(fox)})
				n.sendText("A")
				time.Sleep(time.Second + offset)
				begun := time.Now()
				b := n.sendText("B")
				if o, _ := w.waitAnswer(b); o.Status != answer.Completed || time.Since(begun) > time.Second {
					w.Errorf("%s, %v around the end: B ended as %+v after %v", policy, offset, o, time.Since(begun))
				}
				w.model.clear() // an A that was superseded before it began
			}
		})
	}
}

// The same in the instant of each effect of a run's end.
func TestMessageAtEachEffect(t *testing.T) {
	for effect, more := 1, true; more; effect++ {
		withHarness(t, func(w *harness) {
			w.cfg.Turns.Direct = schedule.Queue
			var b chat.Accepted
			var n *process
			p := &gatewaytest.Faults{}
			p.Before(effect, func() { b = n.sendText("B") })
			w.wrap(p)
			n = w.start()
			a := n.sendText("A")
			w.waitAnswer(a)
			begun := time.Now()
			if more = b.Run != ""; !more {
				return
			}
			w.wantAnswer(b, answer.Completed, "You said: B")
			if time.Since(begun) > time.Second || effect == 1 && p.Effects()[0] != "accept" {
				w.Errorf("at effect %d (%s): answered after %v", effect, p.Effects()[effect-1], time.Since(begun))
			}
		})
	}
}

// I1 (IN-03, IN-04): a message has one run, however often it comes.
func TestDuplicates(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		m := w.message(room, "ada", "A")
		first := n.send(m)
		for range 5 {
			if acc := n.send(m); !acc.Duplicate || acc.Run != first.Run {
				w.Errorf("again: %+v", acc)
			}
			time.Sleep(time.Second)
		}
		w.wantAnswer(first, answer.Completed, "You said: A")
		m.Text = "Something else"
		if acc := n.send(m); !acc.Altered {
			w.Errorf("another text: %+v", acc)
		}
		synctest.Wait()
		w.wantModelCalls(1)
		if got := strings.Join(w.chat.visible(), "|"); got != "You said: A" {
			w.Errorf(`the chat shows %q; want "You said: A"`, got)
		}
	})
}
