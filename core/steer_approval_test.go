package core_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/internal/subtest"
)

// askedAgain plays a run that waits for an approval, and notes when its call was made.
type askedAgain struct {
	*harness
	shop           *approvedAction
	acc            chat.Accepted
	approver       chat.EntityID
	calls, presses []time.Time
}

// withOrder parks a run of Ada's, under [schedule.Steer]: her own question, or a card for Olga.
func withOrder(t *testing.T, approver chat.EntityID, play func(w *askedAgain, n *process)) {
	withHarness(t, func(h *harness) {
		w := &askedAgain{harness: h, approver: approver, shop: h.withShop()}
		w.cfg.Turns.Direct = schedule.Steer
		w.cfg.Access.Owners = map[chat.EntityID]bool{approver: true}
		w.cfg.Access.Allowed.Accounts["olga"] = true
		w.shop.do = func(context.Context, *action.Call) (action.Result, error) {
			w.calls = append(w.calls, time.Now())
			return action.Result{Text: "ordered"}, nil
		}
		w.model.respond = func(r llm.Request) []step {
			switch last := r.Messages[len(r.Messages)-1]; {
			case last.Role == llm.RoleTool:
				return []step{write("Well.")}
			case strings.Contains(last.Text, "Order milk"):
				return []step{call(0, "m", "ORDER", `{"item":"milk"}`)}
			case strings.Contains(last.Text, "Order"):
				return []step{write(fox), call(0, "o", "ORDER", `{"item":"tea"}`)}
			case strings.Contains(last.Text, "Slowly"):
				return []step{pause(time.Minute), call(0, "l", "LOOK", `{}`)}
			}
			return []step{write("Noted.")}
		}
		n := w.start()
		w.waitAnswer(n.send(w.message("fake/olga", "olga", "Hi")))
		w.acc = n.sendText("Order tea")
		w.waitParked(w.acc)
		time.Sleep(1500 * time.Millisecond)
		play(w, n)
	})
}

// cards returns the open questions of the approver.
func (w *askedAgain) cards() []chat.Question {
	w.Helper()
	in := room
	if w.approver == "olga" {
		in = "fake/olga"
	}
	all := require.Value(w.Store.OpenQuestions(w.Context(), in))(w)
	return all
}

// approve presses Once on each card.
func (w *askedAgain) approve(n *process) {
	for _, q := range w.cards() {
		w.presses = append(w.presses, time.Now())
		_, _ = n.ProcessMessage(w.Context(), chat.Choice(pressed(q, 0).by(w.approver)))
	}
}

// wantFreshApproval wants at most one call, and none with an approval that is older than a message of Ada's from before it.
func (w *askedAgain) wantFreshApproval(wrote time.Time, about string) {
	w.Helper()
	for _, at := range w.calls {
		if at.After(wrote) && !slices.ContainsFunc(w.presses, func(p time.Time) bool { return p.After(wrote) && !p.After(at) }) {
			w.Errorf("%s: the call was made at %v with an approval from before the message at %v", about, at, wrote)
		}
	}
	if len(w.calls) > 1 {
		w.Errorf("%s: the call was made %d times", about, len(w.calls))
	}
}

// A call that was approved, and has not begun when its asker writes again, is asked again, once: the approval comes, the process dies at any
// moment after it, Ada writes, and another process continues.
func TestSteerAsksAgain(t *testing.T) {
	for _, approver := range []chat.EntityID{"ada", "olga"} {
		lapsed, direct, effects := 0, 0, 1
		play := func(k int) {
			withOrder(t, approver, func(w *askedAgain, n *process) {
				n.shutdown()
				f := &gatewaytest.Faults{}
				first := w.startFaulty(f)
				killAt(f, k, true, first)
				w.approve(first)
				time.Sleep(10 * time.Millisecond)
				if k == 0 {
					time.Sleep(time.Minute)
					effects = len(f.Effects())
				}
				wrote := time.Now()
				second := w.start()
				green := second.sendText("Green tea!")
				time.Sleep(2 * time.Minute)
				about := strings.Join(append([]string{string(approver)}, f.Effects()...), ", ")
				if again := w.cards(); len(w.calls) == 0 && w.run(w.acc).Outcome.Status == "" {
					shown := strings.Join(w.chat.visible(), "\n")
					last := shown[strings.LastIndex(shown, "🔐"):]
					if len(again) != 1 || strings.Count(last, "✎ ada wrote since: Green tea!") != 1 && approver == "olga" {
						w.Errorf("%s: she reads %q, and is asked %+v", about, shown, again)
					}
					if o, _ := w.waitAnswer(green); o.Status != answer.Completed { // it does not wait for the approval
						w.Errorf("%s: the message was answered as %+v", about, o)
					}
				}
				w.wantFreshApproval(wrote, about)
				w.approve(second)
				w.waitAnswer(w.acc)
				w.wantFreshApproval(wrote, about)
				if got := w.decisions(room); slices.Contains(got, chat.Lapsed) {
					lapsed++
					want, calls := []chat.Decision{chat.Lapsed, chat.Used}, 1
					if got[1] == chat.Stopped { // the answer of a process that died can't show a question
						want, calls = []chat.Decision{chat.Lapsed, chat.Stopped}, 0
					}
					if !slices.Equal(got, want) || len(w.calls) != calls {
						w.Errorf("%s: decided is %q, want %q; %d calls", about, got, want, len(w.calls))
					}
				} else {
					direct++
				}
				w.chat.forgetSeen() // the marks are not stored
			})
		}
		for k := 0; k <= effects && !t.Failed(); k++ {
			play(k)
		}
		if lapsed == 0 || direct == 0 {
			t.Errorf("%s: %d approvals lapsed, and %d did not; want some of both", approver, lapsed, direct)
		}
	}
}

// The message can have joined another answer since, which ended before the approved call began; a message from before the approval changes
// nothing, and neither does one under another policy.
func TestSteerAsksAgainAfterAnotherAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		policy schedule.Policy
		later  bool
		want   []chat.Decision
	}{
		"joined another answer": {schedule.Steer, true, []chat.Decision{chat.Lapsed, chat.Used}},
		"before the approval":   {schedule.Steer, false, []chat.Decision{chat.Used}},
		"queued":                {schedule.Queue, true, []chat.Decision{chat.Used}},
	} {
		t.Run(name, subtest.With(withOrder, "olga", func(w *askedAgain, n *process) {
			w.addActions(&fakeAction{name: "LOOK", effect: action.Reads, limit: 2 * time.Minute, do: takes(time.Minute)})
			w.cfg.Turns.Direct = c.policy
			n.shutdown()
			n = w.start()
			n.sendText("Slowly")
			time.Sleep(10 * time.Second)
			if !c.later {
				n.sendText("Green tea!")
				time.Sleep(3 * time.Minute)
				if shown := strings.Join(w.chat.visible(), "\n"); strings.Count(shown, "✎ ada wrote since: Green tea!") != 1 {
					w.Errorf("a card shows no message that has joined another answer: %q", shown)
				}
			}
			w.approve(n)
			time.Sleep(10 * time.Second)
			wrote := w.presses[0].Add(-10 * time.Second)
			if c.later {
				wrote = time.Now()
				n.sendText("Green tea!")
			}
			time.Sleep(5 * time.Minute)
			if c.policy == schedule.Steer {
				w.wantFreshApproval(wrote, name)
			}
			w.approve(n)
			w.waitAnswer(w.acc)
			if got := w.decisions(room); !slices.Equal(got, c.want) || len(w.calls) != 1 {
				w.Errorf("decided is %q, want %q; %d calls", got, c.want, len(w.calls))
			}
			w.chat.forgetSeen() // the marks are not stored
		}))
	}
}

// A call that is asked again does not replace what its asker has requested since: the later message keeps its request, and both are decided.
func TestSteerAsksAgainBesideALaterRequest(t *testing.T) {
	withOrder(t, "olga", func(w *askedAgain, n *process) {
		w.addActions(&fakeAction{name: "LOOK", effect: action.Reads, limit: 2 * time.Minute, do: takes(time.Minute)})
		n.shutdown()
		n = w.start()
		slow := n.sendText("Slowly")
		time.Sleep(10 * time.Second)
		w.approve(n)
		time.Sleep(10 * time.Second)
		n.sendText("Order milk") // joins the answer, which then waits, too
		time.Sleep(5 * time.Minute)
		if got := w.decisions(room); !slices.Equal(got, []chat.Decision{chat.Lapsed, chat.Pending, chat.Pending}) || len(w.cards()) != 2 {
			w.Errorf("decided is %q, and the approver is asked %+v; want two requests that wait", got, w.cards())
		}
		w.approve(n)
		w.waitAnswer(w.acc)
		w.waitAnswer(slow)
		if got := w.decisions(room); !slices.Equal(got, []chat.Decision{chat.Lapsed, chat.Used, chat.Used}) || len(w.calls) != 2 {
			w.Errorf("decided is %q, and %d calls were made; want two", got, len(w.calls))
		}
		w.chat.forgetSeen() // the marks are not stored
	})
}
