package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/internal/subtest"
)

// approvedAction is an action whose calls need an approval.
type approvedAction struct {
	*fakeAction
	kind string // of its definition
}

func (g *approvedAction) Guard(*action.Call) *action.Approval {
	return &action.Approval{Server: "shop", Tool: g.name, Kind: g.kind}
}

// withShop gives the next processes an action that needs an approval of Ada, who owns the agent.
func (w *harness) withShop() *approvedAction {
	g := &approvedAction{&fakeAction{name: "ORDER", effect: action.Writes}, "kind"}
	w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "shop", Actions: []action.Action{g}})
	w.cfg.Access.Owners, w.cfg.Access.Allowed.Accounts = map[chat.EntityID]bool{"ada": true}, map[chat.EntityID]bool{"ada": true, "bob": true}
	return g
}

// queueOrder has the model call ORDER and then say what came of it.
func (w *harness) queueOrder() {
	w.model.queue([]step{call(0, "o", "ORDER", `{"item":"tea"}`)}, []step{write("Tea is on its way.")})
}

// waitParked waits until a run is parked, and returns what it asks; nothing if it asks nothing itself.
func (w *harness) waitParked(acc chat.Accepted) chat.Question {
	w.Helper()
	for range 100 {
		synctest.Wait()
		if w.run(acc).Parked {
			q, err := w.Store.QuestionOf(w.Context(), acc.Run)
			if err != nil || !q.Open(time.Now()) {
				return chat.Question{}
			}
			return q
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.Fatalf("the run is not parked: %+v\nlog:\n%s", w.run(acc), w.Logged)
	return chat.Question{}
}

// decisions lists the decisions in a room, oldest first.
func (w *harness) decisions(in chat.RoomID) (all []chat.Decision) {
	w.Helper()
	found := require.Value(w.Store.RecentApprovals(w.Context(), in, 100))(w)
	for _, a := range slices.Backward(found) {
		all = append(all, a.Decision)
	}
	return all
}

// While a run waits for its approval the room is free, also for the same person where turns queue, and no process holds the run. A press
// on another replica, after the first has ended, has it go on: the call is made once, and new text appears in the same message.
func TestRunWaitsWithoutItsRoom(t *testing.T) {
	withHarness(t, func(w *harness) {
		shop := w.withShop()
		first := w.start()
		m := w.groupMention("ada", "Order tea")
		w.model.queue([]step{write(fox), call(0, "o", "ORDER", `{"item":"tea"}`)}, []step{write("Me?")}, []step{write("Me?")}, []step{write("Tea is on its way.")})
		acc := first.send(m)
		q := w.waitParked(acc)
		if !slices.Equal(q.Options, []string{"Once", "Always here", "Deny"}) || !slices.Equal(q.For, []chat.EntityID{"ada"}) || w.run(acc).Held {
			t.Errorf("it asks %+v", q)
		}
		for _, who := range []chat.EntityID{"bob", "ada"} {
			w.wantAnswer(first.send(w.groupMention(who, "And you?")), answer.Completed, "Me?")
		}
		if shown := w.chat.visible(); len(shown) != 3 || !strings.HasPrefix(shown[0], fox) || !strings.Contains(shown[0], "🔐 **ORDER** (shop, write)") {
			t.Errorf("people see %q", shown)
		}
		second := w.start()
		first.shutdown()
		time.Sleep(20 * time.Minute) // longer than any turn
		if shop.times() > 0 {
			t.Error("the call was made before it was approved; want it to wait")
		}
		second.deliver(chat.Choice(pressed(q, 0)))
		o, said := w.waitAnswer(acc)
		if o.Status != answer.Completed || !strings.HasPrefix(said, fox) || !strings.HasSuffix(said, "Tea is on its way.") || !strings.Contains(said, "→ **Once**") {
			t.Errorf("it ended as %+v and said %q", o, said)
		}
		if acc := second.deliver(chat.Choice(pressed(q, 2))); acc.Refused == "" {
			t.Error("the second decision was accepted; want it refused")
		}
		if got := w.decisions(group); shop.times() != 1 || !slices.Equal(got, []chat.Decision{chat.Used}) {
			t.Errorf("made %d times, decided %q", shop.times(), got)
		}
		if n := len(w.chat.visible()); n != 3 {
			t.Errorf("people see %d messages; want 3", n)
		}
		asked := w.model.requests()
		told := asked[len(asked)-1].Messages
		if last := told[len(told)-2:]; last[0].Text != fox || len(last[0].Calls) != 1 || last[1].Call != "o" || last[1].Text != `done {"item":"tea"}` {
			t.Errorf("the model was told %+v", last)
		}
		if slices.ContainsFunc(told, func(m llm.Message) bool { return strings.Contains(m.Text, "And you?") }) {
			t.Error("the model was told what was said after the question")
		}
	})
}

// Stopping, clearing, deleting the question, and the end of the time deny: the call is not made, the
// question is closed, and the run ends.
func TestParkedRunIsDenied(t *testing.T) {
	late := []step{write("Too late.")}
	for name, c := range map[string]struct {
		deny     func(w *harness, n *process, m chat.Message)
		status   answer.Status
		decision chat.Decision
	}{
		"stop":    {func(_ *harness, n *process, m chat.Message) { n.stopAnswer(m.Room) }, answer.Stopped, chat.Stopped},
		"cleared": {func(_ *harness, n *process, m chat.Message) { n.deliver(chat.Cleared{Room: m.Room}) }, answer.Stopped, chat.Stopped},
		"deleted": {func(_ *harness, n *process, m chat.Message) { n.remove(m) }, answer.Stopped, chat.Stopped},
		"the time": {func(w *harness, _ *process, _ chat.Message) {
			w.model.queue(late)
			time.Sleep(time.Hour)
		}, answer.Completed, chat.Expired},
		"a restart before that": {func(w *harness, n *process, m chat.Message) {
			n.shutdown()
			time.Sleep(time.Minute)
			w.start().stopAnswer(m.Room)
		}, answer.Stopped, chat.Stopped},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			shop, n := w.withShop(), w.start()
			m := w.message(room, "ada", "Order tea")
			w.model.queue([]step{write(fox), call(0, "o", "ORDER", `{"item":"tea"}`)})
			acc := n.send(m)
			q := w.waitParked(acc)
			c.deny(w, n, m)
			o, _ := w.waitAnswer(acc)
			time.Sleep(time.Minute)
			if got := w.decisions(room); o.Status != c.status || !slices.Equal(got, []chat.Decision{c.decision}) || shop.times() > 0 {
				w.Errorf("ended as %+v, decided %q, made %d times", o, got, shop.times())
			}
			if now, err := w.Store.Question(w.Context(), q.ID); err == nil && now.Open(time.Now()) {
				w.Error("the question is still open; want it closed")
			}
			if name == "cleared" {
				w.accepted = nil // it was forgotten, perhaps after its end was seen
				w.chat.forgetSeen()
			}
			if r := w.run(acc); r.Continues || r.Parked {
				w.Errorf("of the wait is left %+v", r)
			}
		}))
	}
}

// In every form of answers a run goes on where it was: earlier calls are not made again, later ones of the same round are made, and
// several approvals are asked for one after the other.
func TestParkedRunGoesOn(t *testing.T) {
	tag := func(item string) string {
		return fmt.Sprintf(`<action><name>ORDER</name><params>{"item":"%s"}</params></action>`, item)
	}
	for name, c := range map[string]struct {
		mode  generate.Config
		first []step
		last  step
	}{
		"natively": {generate.Config{}, []step{call(0, "", "LOOK", "{}"), call(1, "", "ORDER", `{"item":"tea"}`), call(2, "", "ORDER", `{"item":"milk"}`)}, write("Both.")},
		"as a form": {generate.Config{Mode: generate.XML}, []step{write("<response><thought>t</thought><actions><action><name>LOOK</name></action>" + tag("tea") + tag("milk") +
			"</actions><text>Well.</text></response>")}, write("<response><text>Both.</text></response>")},
		"in steps": {generate.Config{Mode: generate.XML, MultiStep: true}, []step{write("<response><thought>t</thought><actions><action><name>LOOK</name></action>" + tag("tea") + tag("milk") +
			"</actions><isFinish>true</isFinish></response>")}, write("<response><text>Both.</text></response>")},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Generation = c.mode
			shop, look := w.withShop(), &fakeAction{name: "LOOK"}
			w.addActions(look)
			w.model.queue(c.first, []step{c.last})
			n := w.start()
			acc := n.sendText("Order tea and milk")
			for range 2 {
				q := w.waitParked(acc)
				n.shutdown()
				n = w.start()
				n.deliver(chat.Choice(pressed(q, 0)))
				time.Sleep(time.Second)
			}
			if o, said := w.waitAnswer(acc); o.Status != answer.Completed || !strings.HasSuffix(said, "Both.") {
				w.Errorf("ended as %+v with %q", o, said)
			}
			if got := w.decisions(room); shop.times() != 2 || look.times() != 1 || !slices.Equal(got, []chat.Decision{chat.Used, chat.Used}) {
				w.Errorf("ordered %d times, looked %d times, decided %q", shop.times(), look.times(), got)
			}
			w.wantModelCalls(2)
		}))
	}
}

// parkAndStop has a run wait for an approval, and then stops the process.
func (w *harness) parkAndStop() (shop *approvedAction, acc chat.Accepted, q chat.Question) {
	w.Helper()
	shop = w.withShop()
	n := w.start()
	w.queueOrder()
	acc = n.sendText("Order tea")
	q = w.waitParked(acc)
	n.shutdown()
	return shop, acc, q
}

// Rights and the definition of the tool are checked again when the run goes on.
func TestParkedRunIsCheckedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *harness, g *approvedAction)
		times  int
		asks   bool // once more
	}{
		"nothing":              {func(*harness, *approvedAction) {}, 1, false},
		"the definition":       {func(_ *harness, g *approvedAction) { g.kind = "another" }, 0, true},
		"who may approve":      {func(w *harness, _ *approvedAction) { w.cfg.Access.Owners = map[chat.EntityID]bool{"olga": true} }, 0, false},
		"the tool is not here": {func(w *harness, _ *approvedAction) { w.cfg.Plugins = nil }, 0, false},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			shop, acc, q := w.parkAndStop()
			c.change(w, shop)
			w.start().deliver(chat.Choice(pressed(q, 0)))
			time.Sleep(time.Minute)
			if r := w.run(acc); shop.times() != c.times || r.Parked != c.asks || r.Outcome.Done() == c.asks {
				w.Errorf("made %d times; the run is %+v", shop.times(), r)
			}
			w.nodes[1].stopAnswer(room)
			w.waitAnswer(acc)
		}))
	}
}

// A run that goes on waits for an action that is not there yet, and says that nothing was done if it doesn't come.
func TestParkedRunWaitsForItsAction(t *testing.T) {
	for name, late := range map[string]bool{"it comes later": true, "it does not come": false} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			shop, acc, q := w.parkAndStop()
			there := make(chan struct{})
			w.cfg.Plugins = []action.Plugin{{Name: "shop", Live: func() []action.Action {
				select {
				case <-there:
					return []action.Action{shop}
				default:
					return nil
				}
			}, Await: func(ctx context.Context, s action.TurnContext, name string, _ json.RawMessage) error {
				if name != "ORDER" || s.Message.Author != "ada" {
					w.Errorf(`it waits for %s of %s; want "ORDER" and "ada"`, name, s.Message.Author)
				}
				time.Sleep(10 * time.Second)
				if !late {
					return errors.New("the shop can't be reached")
				}
				close(there)
				return nil
			}}}
			w.start().deliver(chat.Choice(pressed(q, 0)))
			time.Sleep(time.Minute)
			o, _ := w.waitAnswer(acc)
			want := map[bool]chat.Decision{true: chat.Used, false: chat.Approved}[late]
			if got := w.decisions(room); o.Status != answer.Completed || (shop.times() == 1) != late || late && !slices.Equal(got, []chat.Decision{want}) {
				w.Errorf("ended as %+v, made %d times, decided %q", o, shop.times(), got)
			}
			asked := w.model.requests()
			told := asked[len(asked)-1].Messages
			if said := told[len(told)-1].Text; !late && said != "Error: Nothing was done: the shop can't be reached." {
				w.Errorf("the model was told %q", said)
			}
		}))
	}
}

// I14: the process dies before and behind each effect of a run that waits and goes on. The call is made at most once, and the run ends.
func TestCrashOfParkedRun(t *testing.T) {
	for name, prepare := range map[string]func(w *harness) (times func() int){
		"an approval": func(w *harness) func() int {
			w.model.respond = func(r llm.Request) []step {
				if last := r.Messages[len(r.Messages)-1]; last.Role == llm.RoleTool {
					return []step{write("Well.")}
				}
				return []step{write(fox), call(0, "o", "ORDER", `{"item":"tea"}`)}
			}
			return w.withShop().times
		},
		"what may be a quote": func(w *harness) func() int {
			w.model.respond = func(r llm.Request) []step {
				if last := r.Messages[len(r.Messages)-1]; strings.Contains(last.Text, "already been sent") {
					return []step{write("<response><text>Well.</text></response>")}
				}
				return []step{write(repeats)}
			}
			return w.withMail().times
		},
	} {
		t.Run(name, func(t *testing.T) { crashesOfParkedRun(t, prepare) })
	}
}

func crashesOfParkedRun(t *testing.T, prepare func(w *harness) (times func() int)) {
	var effects []string
	play := func(k int, behind bool) {
		withHarness(t, func(w *harness) {
			times := prepare(w)
			p := &gatewaytest.Faults{}
			first := w.startFaulty(p)
			killAt(p, k, behind, first)
			m := w.message(room, "ada", "Order tea")
			_, _ = first.ProcessMessage(w.Context(), m)
			press := func(n *process) {
				time.Sleep(time.Minute)
				open := require.Value(w.Store.OpenQuestions(w.Context(), room))(w)
				for _, q := range open {
					_, _ = n.ProcessMessage(w.Context(), chat.Choice(pressed(q, 0)))
				}
				time.Sleep(time.Minute)
			}
			press(first)
			effects = p.Effects()
			second := w.start()
			acc := second.send(m)
			press(second)
			press(second)
			if o, said := w.waitAnswer(acc); times() > 1 || k == 0 && (times() != 1 || o.Status != answer.Completed) {
				w.Errorf("dying at effect %d of %q, behind it: %v: made %d times, ended as %+v with %q", k, effects, behind, times(), o, said)
			}
		})
	}
	play(0, false)
	for k, last := 1, len(effects); k <= last && !t.Failed(); k++ {
		play(k, false)
		play(k, true)
	}
	if !slices.Contains(effects, "park") || !slices.Contains(effects, "wake") {
		t.Errorf(`the effects are %q; want them to contain "park" and them to contain "wake"`, effects)
	}
}

// A run is stopped, or its question is deleted, just before the run is parked, and its process dies right after that: the run ends soon, and not
// only at the end of its time.
func TestStopBeforeACrashThatParks(t *testing.T) {
	for name, stop := range map[string]func(w *harness, n *process, m chat.Message){
		"the room":     func(_ *harness, n *process, _ chat.Message) { n.stopAnswer(group) },
		"its question": func(_ *harness, n *process, m chat.Message) { n.deliver(chat.Deleted{Room: m.Room, ID: m.ID}) },
		"this answer": func(_ *harness, n *process, m chat.Message) {
			n.deliver(chat.Command{Room: group, Author: "ada", Name: chat.Stop, Question: m.ID})
		},
	} {
		t.Run(name, func(t *testing.T) {
			park := 0 // the effect
			play := func(w *harness) {
				shop, f, second := w.withShop(), &gatewaytest.Faults{}, w.start()
				first := w.startFaulty(f)
				m := w.groupMention("ada", "Order tea")
				if park > 0 {
					f.Before(park, func() { stop(w, second, m) })
					killAt(f, park, true, first)
				}
				w.queueOrderOf("tea")
				acc := first.send(m)
				time.Sleep(2 * time.Minute)
				if r := w.run(acc); park > 0 && (r.Outcome.Status != answer.Stopped || shop.times() > 0) {
					w.Errorf("dying behind %q: it is %+v, made %d times", f.Effects()[park-1], r, shop.times())
				}
				park = slices.Index(f.Effects(), "park") + 1
				second.stopAnswer(group)
				time.Sleep(time.Minute)
				w.accepted = nil // its question can be deleted
			}
			withHarness(t, play)
			withHarness(t, play)
		})
	}
}

// A reader sees what a parked run asks, on whatever replica, and then how it goes on.
func TestWatchParkedRun(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		w.withShop()
		a, b := w.start(), w.start()
		w.queueOrder()
		acc := a.sendText("Order tea")
		q := w.waitParked(acc)
		for _, n := range []*process{a, b} {
			if got := n.currentChoices(acc); got == nil || got.ID != q.ID {
				t.Errorf("a reader is offered %+v", got)
			}
		}
		var views [2]answer.View
		done := make(chan error, 2)
		for i, n := range []*process{a, b} {
			go func() {
				err := answer.ErrLost
				for err == answer.ErrLost {
					_, views[i], err = n.readAnswer(acc.Run)
				}
				done <- err
			}()
		}
		time.Sleep(time.Minute)
		b.deliver(chat.Choice(pressed(q, 0)))
		for range views {
			w.Must(<-done)
		}
		for i, v := range views {
			if !strings.HasSuffix(v.Text(), "Tea is on its way.") || v.Choices != nil || v.Outcome.Status != answer.Completed || strings.Count(v.Text(), "🔐") != 1 {
				t.Errorf("reader %d sees %q, %+v", i, v.Text(), v.Outcome)
			}
		}
	})
}

// An edited question is answered again, and what it waited for with it.
func TestEditOfParkedRun(t *testing.T) {
	withHarness(t, func(w *harness) {
		shop, n := w.withShop(), w.start()
		m := w.message(room, "ada", "Order tea")
		w.model.queue([]step{call(0, "o", "ORDER", `{"item":"tea"}`)}, []step{write("As you like.")})
		acc := n.send(m)
		q := w.waitParked(acc)
		n.edit(m, "Order nothing")
		w.wantAnswer(acc, answer.Completed, "As you like.")
		if got := n.deliver(chat.Choice(pressed(q, 0))); got.Refused == "" || shop.times() > 0 {
			t.Errorf("the old question is answered: %+v, and the call made %d times", got, shop.times())
		}
	})
}

// /new ends approvals in the same step that forgets the conversation, even if the answers of the room could not be stopped first: a press
// that comes later makes no call, and nothing is approved in advance.
func TestForgottenApprovals(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		shop := w.withShop()
		n := w.start()
		w.queueOrder()
		acc := n.sendText("Order tea")
		n.deliver(chat.Choice(pressed(w.waitParked(acc), 1))) // always
		w.waitAnswer(acc)
		w.model.queue([]step{call(0, "w", "ORDER", `{"item":"tea"}`)}, []step{write("Again.")})
		w.waitAnswer(n.sendText("And again"))
		if shop.times() != 2 {
			t.Fatalf("made %d times; want 2", shop.times())
		}
		_, err := w.Store.Clear(w.Context(), room)
		w.Must(err)
		w.accepted = nil // it was forgotten
		w.queueOrder()
		acc = n.sendText("Order tea")
		q := w.waitParked(acc)
		_, err = w.Store.Clear(w.Context(), room) // as if the process had died between this and stopping the answers
		w.Must(err)
		w.accepted = nil
		_, _ = n.ProcessMessage(w.Context(), chat.Choice(pressed(q, 0)))
		time.Sleep(2 * time.Hour)
		if got := w.decisions(room); shop.times() != 2 || !slices.Equal(got, []chat.Decision{chat.Lapsed, chat.Standing, chat.Stopped}) || !w.run(acc).Outcome.Done() {
			t.Errorf("made %d times, decided %q, the run is %+v", shop.times(), got, w.run(acc))
		}
	})
}
