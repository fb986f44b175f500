package core_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/internal/require"
	"parley/internal/subtest"
)

// chooser remembers what was chosen.
type chooser struct {
	says   string
	err    error
	panics bool
	chosen []chat.Question
}

func (*chooser) Name() string { return "test" }

func (c *chooser) Chosen(_ context.Context, q chat.Question) (string, error) {
	c.chosen = append(c.chosen, q)
	if c.panics {
		panic("a broken chooser")
	}
	return c.says, c.err
}

// withQuestion runs a test with a question that Ada is asked.
func withQuestion(t *testing.T, play func(w *harness, n *process, c *chooser, q chat.Question)) {
	t.Helper()
	withHarness(t, func(w *harness) {
		c := &chooser{says: "Let in."}
		w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "test", ChoiceHandlers: []action.ChoiceHandler{c}})
		w.cfg.Access.Allowed.Accounts["bob"] = true
		n := w.start()
		w.waitAnswer(n.sendText("A"))
		acc := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "Let Eve in?", Ask: &chat.Question{
			Options: []string{"Yes", " No,\nnever "}, For: []chat.EntityID{"ada"}, Handler: "test", Payload: "eve",
		}})
		w.wantAnswer(acc, answer.Completed, "Let Eve in?")
		play(w, n, c, w.question(acc))
		w.chat.forgetSeen() // the message of the question says more after its run has ended
	})
}

// question is what a run asks.
func (w *harness) question(acc chat.Accepted) chat.Question {
	w.Helper()
	q := require.Value(w.Store.QuestionOf(w.Context(), acc.Run))(w)
	return q
}

func (q press) by(author chat.EntityID) press {
	q.Author, q.Name = author, strings.ToUpper(string(author[:1]))+string(author[1:])
	return q
}

type press chat.Choice

// pressed is a press of Ada's.
func pressed(q chat.Question, option int) press {
	return press{Question: q.ID, Option: option, Room: q.Room}.by("ada")
}

func TestChoice(t *testing.T) {
	withQuestion(t, func(w *harness, n *process, c *chooser, q chat.Question) {
		if !slices.Equal(q.Options, []string{"Yes", "No, never"}) || time.Until(q.Expires) > time.Hour || len(q.ID) < 20 {
			w.Errorf("asked is %+v", q)
		}
		acc := n.deliver(chat.Choice(pressed(q, 1)))
		w.wantAnswer(acc, answer.Completed, "Let Eve in?\n\n→ **No, never**\n\nLet in.")
		if len(c.chosen) != 1 || c.chosen[0].Choice != 1 || c.chosen[0].By != "ada" || c.chosen[0].Payload != "eve" {
			w.Errorf("chosen was %+v", c.chosen)
		}
		w.wantVisible("You said: A", "Let Eve in?\n\n→ **No, never**\n\nLet in.")
		w.wantAnswer(n.sendText("B"), answer.Completed, "You said: B")
		if got := w.model.requests()[1].texts(); !slices.Equal(got, []string{"A", "You said: A\n\nLet Eve in?", "B"}) {
			w.Errorf("the model was asked %q", got)
		}
	})
}

// SE-07: who presses what is not theirs, or over, changes nothing, and is told.
func TestChoiceFailsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		before func(w *harness, n *process, q chat.Question)
		press  func(q chat.Question) press
		told   string
		closed bool // the buttons go
	}{
		"another user":        {nil, func(q chat.Question) press { return pressed(q, 0).by("bob") }, "This choice is not yours to make.", false},
		"a stranger":          {nil, func(q chat.Question) press { return pressed(q, 0).by("eve") }, "This choice is not yours to make.", false},
		"another room":        {nil, func(q chat.Question) press { p := pressed(q, 0); p.Room = group; return p }, "This question has closed.", false},
		"unknown":             {nil, func(q chat.Question) press { p := pressed(q, 0); p.Question = "x"; return p }, "This question has closed.", false},
		"no such option":      {nil, func(q chat.Question) press { return pressed(q, 2) }, "This question has closed.", false},
		"an option below":     {nil, func(q chat.Question) press { return pressed(q, -1) }, "This question has closed.", false},
		"expired":             {func(*harness, *process, chat.Question) { time.Sleep(time.Hour) }, nil, "This question has closed.", true},
		"after a stop":        {func(w *harness, n *process, _ chat.Question) { n.sendText("/stop") }, nil, "This question has closed.", true},
		"after it was clear":  {func(w *harness, n *process, _ chat.Question) { n.deliver(chat.Cleared{Room: room}); w.accepted = nil }, nil, "This question has closed.", true},
		"where it is no more": {func(_ *harness, n *process, _ chat.Question) { n.deliver(chat.Left{Room: room}) }, nil, "This question has closed.", false},
		"not invited any more": {func(w *harness, _ *process, _ chat.Question) { delete(w.cfg.Access.Allowed.Accounts, "ada") }, nil,
			"I only talk to people my owner has approved.", false},
	} {
		t.Run(name, subtest.Of(withQuestion, func(w *harness, n *process, chooser *chooser, q chat.Question) {
			if c.before != nil {
				c.before(w, n, q)
			}
			if c.press == nil {
				c.press = func(q chat.Question) press { return pressed(q, 0) }
			}
			acc := n.deliver(chat.Choice(c.press(q)))
			time.Sleep(time.Minute)
			if acc.Refused != c.told || acc.Run != "" || len(chooser.chosen) != 0 {
				w.Errorf("%+v; chosen was %+v", acc, chooser.chosen)
			}
			if got := w.chat.visible(); got[len(got)-1] != "Let Eve in?" {
				w.Errorf("the chat shows %q", got)
			}
			if q, err := w.Store.Question(w.Context(), q.ID); err == nil && (q.ResultRun != "") != c.closed {
				w.Errorf("its buttons are taken away by %q", q.ResultRun)
			}
		}))
	}
}

// SE-07: a choice is made once, anyone who presses again, on whichever replica.
func TestChoiceIsMadeOnce(t *testing.T) {
	withQuestion(t, func(w *harness, n *process, c *chooser, q chat.Question) {
		other := w.start()
		acc := n.deliver(chat.Choice(pressed(q, 0)))
		for _, again := range []*process{n, other} {
			if acc := again.deliver(chat.Choice(pressed(q, 1))); acc.Refused != "This question has closed." {
				w.Errorf("again: %+v", acc)
			}
		}
		w.wantAnswer(acc, answer.Completed, "Let Eve in?\n\n→ **Yes**\n\nLet in.")
		if len(c.chosen) != 1 {
			w.Errorf("chosen was %+v; want 1", c.chosen)
		}
	})
}

// What was chosen is done though the process dies, and shown once (I14).
func TestChoiceSurvives(t *testing.T) {
	withQuestion(t, func(w *harness, n *process, c *chooser, q chat.Question) {
		n.shutdown()
		n = w.start()
		acc := n.deliver(chat.Choice(pressed(q, 0)))
		n.shutdown()
		w.start()
		w.wantAnswer(acc, answer.Completed, "Let Eve in?\n\n→ **Yes**\n\nLet in.")
		if got := w.chat.visible(); len(got) != 2 {
			w.Errorf("the chat shows %q; want 2", got)
		}
	})
}

// A question that permits it is answered in the user's own words: of a modal, or as a message, which then gets no other answer. They
// reach its handler as the last option, once, and are shown shortened. Without permission they are no choice.
func TestChoiceInOwnWords(t *testing.T) {
	words := "oat *milk* " + strings.Repeat("and more ", 400)
	for name, options := range map[string][]string{"besides options": {"Tea"}, "alone": nil} {
		for _, typed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", typed: ", typed), subtest.Of(withQuestion, func(w *harness, n *process, c *chooser, closed chat.Question) {
				if acc := n.deliver(chat.Choice{Question: closed.ID, Words: words, Room: room, Author: "ada"}); acc.Refused != "This question has closed." {
					w.Errorf("own words for a question with options alone: %+v", acc)
				}
				q := w.question(n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "What now?", Ask: &chat.Question{
					Options: options, Other: "Some\nthing", For: []chat.EntityID{"ada"}, Handler: "test",
				}}))
				w.WaitIdle()
				if q.Other != "Some thing" {
					w.Errorf("the label %q", q.Other)
				}
				in := chat.Inbound(w.message(room, "ada", words))
				if !typed {
					in = chat.Choice{Question: q.ID, Words: words, Room: room, Author: "ada"}
				}
				for range 2 {
					if acc := n.deliver(in); acc.Refused != "" {
						w.Errorf("refused: %+v", acc)
					}
					w.WaitIdle()
				}
				if len(c.chosen) != 1 || c.chosen[0].Options[c.chosen[0].Choice] != strings.TrimSpace(words) && c.chosen[0].Options[c.chosen[0].Choice] != words {
					w.Errorf("chosen was %+v", c.chosen)
				}
				if acc := n.deliver(chat.Choice{Question: q.ID, Words: "beer", Room: room, Author: "ada"}); acc.Refused != "This question has closed." {
					w.Errorf("other words later: %+v", acc)
				}
				if all := strings.Join(w.chat.visible(), "\n"); !strings.Contains(all, "→ **oat ") || strings.Count(all, "and more") > 2*200/9 {
					w.Errorf("the chat shows %q", all)
				}
			}))
		}
	}
}

// The details of a question are for those who can choose, and reading them chooses nothing.
func TestDetailsOfAQuestion(t *testing.T) {
	withQuestion(t, func(w *harness, n *process, c *chooser, plain chat.Question) {
		q := w.question(n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "Buy it?", Ask: &chat.Question{
			Options: []string{"Yes"}, Details: "for $9", For: []chat.EntityID{"ada"}, Handler: "test",
		}}))
		w.WaitIdle()
		for want, show := range map[string]chat.Choice{
			"for $9":                            {Question: q.ID, Show: true, Room: room, Author: "ada"},
			"This choice is not yours to make.": {Question: q.ID, Show: true, Room: room, Author: "bob"},
			"This question has closed.":         {Question: plain.ID, Show: true, Room: room, Author: "ada"},
		} {
			if acc := n.deliver(show); acc.Refused != want || acc.Run != "" {
				t.Errorf("%+v; want %q", acc, want)
			}
		}
		if len(c.chosen) != 0 || strings.Contains(strings.Join(w.chat.visible(), ""), "$9") {
			t.Errorf("chosen was %+v, the chat shows %q", c.chosen, w.chat.visible())
		}
	})
}

// An option can be chosen by its text or its number, by the person that the question is for.
func TestTypedChoice(t *testing.T) {
	for text, want := range map[string]int{"yes": 0, " YES ": 0, "2": 1, "2.": 1, "no, never": 1, "3": -1, "0": -1, "yes please": -1, "-1": -1,
		"1" + strings.Repeat(".", 1000): -1} {
		t.Run(text[:min(len(text), 20)], subtest.Of(withQuestion, func(w *harness, n *process, c *chooser, q chat.Question) {
			m := w.message(room, "ada", text)
			acc := n.send(m)
			w.waitAnswer(acc)
			if want < 0 && len(c.chosen) != 0 || want >= 0 && (len(c.chosen) != 1 || c.chosen[0].Choice != want) {
				w.Errorf("chosen was %+v", c.chosen)
			}
			if again := n.send(m); again.Run != acc.Run || !again.Duplicate || len(c.chosen) > 1 {
				w.Errorf("again: %+v", again)
			}
		}))
	}
	t.Run("by a bot", subtest.Of(withQuestion, func(w *harness, n *process, c *chooser, _ chat.Question) {
		m := w.message(room, "ada", "Yes")
		m.Bot = true
		if acc := n.send(m); acc.Run != "" {
			w.waitAnswer(acc)
		}
		if len(c.chosen) != 0 {
			w.Errorf("chosen was %+v; want none", c.chosen)
		}
	}))
	for _, addressed := range []bool{false, true} {
		t.Run(fmt.Sprint("in a group, addressed: ", addressed), subtest.Of(withQuestion, func(w *harness, n *process, c *chooser, _ chat.Question) {
			first := w.message(group, "ada", "A")
			first.Addressed = true
			w.waitAnswer(n.send(first))
			w.waitAnswer(n.sendNotice(chat.Notice{To: chat.Address{Room: group}, Text: "Tea?", Ask: &chat.Question{
				Options: []string{"Yes", "No"}, For: []chat.EntityID{"ada"}, Handler: "test",
			}}))
			m := w.message(group, "ada", "Yes")
			m.Addressed = addressed
			if acc := n.send(m); acc.Run != "" {
				w.waitAnswer(acc)
			}
			if (len(c.chosen) == 1) != addressed {
				w.Errorf("chosen was %+v", c.chosen)
			}
		}))
	}
	t.Run("of another", subtest.Of(withQuestion, func(w *harness, n *process, c *chooser, _ chat.Question) {
		w.waitAnswer(n.send(w.message(room, "bob", "Yes")))
		if len(c.chosen) != 0 {
			w.Errorf("chosen was %+v; want none", c.chosen)
		}
	}))
}

// What is typed answers a question only while that is the newest message of its room. Its buttons work all the same.
func TestTypedChoiceFollowsItsQuestion(t *testing.T) {
	for name, between := range map[string]func(w *harness, n *process){
		"a message and its answer": func(w *harness, n *process) { w.waitAnswer(n.sendText("B")) },
		"a command":                func(w *harness, n *process) { w.waitAnswer(n.sendText("/status")) },
		"words of the agent": func(w *harness, n *process) {
			w.waitAnswer(n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "Rain."}))
		},
		"a message of another person": func(w *harness, n *process) { w.waitAnswer(n.send(w.message(room, "bob", "B"))) },
		"a stranger's message":        func(w *harness, n *process) { n.send(w.message(room, "eve", "B")) },
	} {
		for _, typed := range []string{"1", "yes"} {
			t.Run(name+", "+typed, subtest.Of(withQuestion, func(w *harness, n *process, c *chooser, q chat.Question) {
				between(w, n)
				if w.waitAnswer(n.sendText(typed)); len(c.chosen) != 0 {
					w.Errorf("chosen was %+v; want none", c.chosen)
				}
				if acc := n.deliver(chat.Choice(pressed(q, 1))); acc.Refused != "" {
					w.Errorf("the button: %+v", acc)
				} else if w.waitAnswer(acc); len(c.chosen) != 1 || c.chosen[0].Choice != 1 {
					w.Errorf("chosen was %+v", c.chosen)
				}
			}))
		}
	}
	t.Run("the answer to an earlier message", subtest.Of(withHarness, func(w *harness) {
		n := w.start()
		w.waitAnswer(n.sendText("A"))
		w.model.queue([]step{pause(time.Minute), write(fox)})
		earlier := n.sendText("B")
		time.Sleep(time.Second)
		asked := n.sendText("/new")
		w.waitAnswer(asked)
		w.wantAnswer(earlier, answer.Completed, fox)
		if acc := n.sendText("1"); w.question(asked).By != "" {
			w.Errorf("%+v answers what was asked before", acc)
		} else {
			w.waitAnswer(acc)
		}
	}))
}

// A chooser that fails or breaks is a sentence, and nothing else breaks.
func TestChooserFails(t *testing.T) {
	for name, broken := range map[string]chooser{"fails": {err: errDown}, "breaks": {panics: true}} {
		t.Run(name, subtest.Of(withQuestion, func(w *harness, n *process, c *chooser, q chat.Question) {
			c.err, c.panics = broken.err, broken.panics
			w.wantAnswer(n.deliver(chat.Choice(pressed(q, 0))), answer.Completed, "Let Eve in?\n\n→ **Yes**\n\nThat didn't work. Please try again.")
		}))
	}
}

// An option may stand for what its chooser would have written.
func TestChoiceAsMessage(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.waitAnswer(n.sendText("A"))
		asked := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "Tea?", Ask: &chat.Question{
			Options: []string{"Yes", "No"}, For: []chat.EntityID{"ada"}, Handler: action.AsMessage,
		}})
		w.waitAnswer(asked)
		w.wantAnswer(n.deliver(chat.Choice(pressed(w.question(asked), 1))), answer.Completed, "You said: No")
		time.Sleep(time.Minute)
		w.wantVisible("You said: A", "Tea?\n\n→ **No**", "You said: No")
		w.chat.forgetSeen()
	})
}

// An action asks a question at the end of its answer; what the asker writes is a message, and no question is left open.
func TestActionAsks(t *testing.T) {
	for _, ans := range []string{"press", "sencha", "2"} {
		t.Run(ans, subtest.Of(withHarness, func(w *harness) {
			w.addActions(&fakeAction{name: "ASK", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
				c.Update("Which?")
				return action.Result{Last: true}, c.Ask(ctx, chat.Question{Options: []string{"Assam", "Sencha"}, Handler: action.AsMessage})
			}})
			w.model.queue([]step{call(0, "a", "ASK", "{}")})
			n := w.start()
			acc := n.sendText("tea")
			w.wantAnswer(acc, answer.Completed, "Which?")
			q := w.question(acc)
			if !q.Open(time.Now()) || !slices.Equal(q.For, []chat.EntityID{"ada"}) {
				w.Fatalf("asked is %+v", q)
			}
			if ans == "press" {
				w.wantAnswer(n.deliver(chat.Choice(pressed(q, 1))), answer.Completed, "You said: Sencha")
			} else {
				w.wantAnswer(n.sendText(ans), answer.Completed, "You said: "+ans)
			}
			time.Sleep(time.Minute)
			if acc := n.deliver(chat.Choice(pressed(q, 0))); acc.Refused != "This question has closed." {
				w.Errorf("it is still open: %+v", acc)
			}
			if last := w.model.requests()[1].texts(); len(w.model.requests()) != 2 || last[1] != "Which?" {
				w.Errorf("the model was asked %q", last)
			}
			w.chat.forgetSeen()
		}))
	}
}

// Who is known by a role has it with what they write and press. What they chose is answered like what they wrote; others may
// not lean on it.
func TestRoleChooses(t *testing.T) {
	for name, c := range map[string]struct {
		roles []string
		want  string
	}{"with the role": {[]string{"friend"}, "You said: Rita: Sencha"}, "without it": {nil, ""}} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Access.Allowed.Roles = map[string]bool{"fake:friend": true}
			var allowed []bool
			w.addActions(&fakeAction{name: "ASK", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
				allowed = append(allowed, c.Turn.Allowed)
				c.Update("Which?")
				return action.Result{Last: true}, c.Ask(ctx, chat.Question{Options: []string{"Assam", "Sencha"}, Handler: action.AsMessage})
			}})
			w.model.queue([]step{call(0, "a", "ASK", "{}")})
			n := w.start()
			m := w.message(group, "rita", "tea")
			m.Addressed, m.Roles = true, []string{"friend"}
			asked := n.send(m)
			w.wantAnswer(asked, answer.Completed, "Which?")
			p := pressed(w.question(asked), 1).by("rita")
			p.Room, p.Roles = group, c.roles
			acc := n.deliver(chat.Choice(p))
			if c.want == "" {
				if acc.Refused != "I only talk to people my owner has approved." {
					w.Errorf("%+v", acc)
				}
				return
			}
			w.wantAnswer(acc, answer.Completed, c.want)
			time.Sleep(time.Minute)
			if !slices.Equal(allowed, []bool{true}) {
				w.Errorf("known: %v", allowed)
			}
			w.chat.forgetSeen()
		}))
	}
}

// A role is its owner's alone: a turn that answers others too is one of guests.
func TestRoleAmongOthers(t *testing.T) {
	for _, last := range []chat.EntityID{"rita", "gus"} {
		withHarness(t, func(w *harness) {
			w.cfg.Access.Allowed.Roles, w.cfg.Access.Guests = map[string]bool{"fake:friend": true}, access.RoomSet{Chats: map[string]bool{"fake:here": true}}
			w.cfg.Turns.Group = schedule.Collect
			var seen action.TurnContext
			w.addActions(&fakeAction{name: "LOOK", do: func(_ context.Context, c *action.Call) (action.Result, error) {
				seen = c.Turn
				return action.Result{}, nil
			}})
			w.model.queue([]step{pause(time.Minute), write(fox)}, []step{call(0, "a", "LOOK", "{}")}, []step{write("Well.")})
			n := w.start()
			says := func(author chat.EntityID) chat.Accepted {
				m := w.message(group, author, "Hello")
				m.Addressed, m.Place.Chats = true, []string{"here"}
				if author == "rita" {
					m.Roles = []string{"friend"}
				}
				return n.send(m)
			}
			says("gus")
			time.Sleep(time.Second)
			first := chat.EntityID("gus")
			if last == "gus" {
				first = "rita"
			}
			says(first)
			w.wantAnswer(says(last), answer.Completed, "Well.")
			if !seen.Several() || seen.Allowed {
				w.Errorf("%s last: several %v, known %v", last, seen.Several(), seen.Allowed)
			}
		})
	}
}

// A question that is none fails the call, and one of a turn that is cut off is not asked (SE-07).
func TestActionAsksInVain(t *testing.T) {
	withHarness(t, func(w *harness) {
		var asked error
		w.addActions(&fakeAction{name: "ASK", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
			asked = c.Ask(ctx, chat.Question{Handler: action.AsMessage})
			_ = c.Ask(ctx, chat.Question{Options: []string{"Yes"}, Handler: action.AsMessage})
			<-ctx.Done()
			return action.Result{}, context.Cause(ctx)
		}})
		w.model.queue([]step{write(fox), call(0, "a", "ASK", "{}")})
		n := w.start()
		acc := n.sendText("tea")
		time.Sleep(time.Second)
		n.stopAnswer(room)
		if w.waitAnswer(acc); asked == nil {
			w.Error("a question without options was accepted; want an error")
		}
		if acc := n.deliver(chat.Choice(pressed(w.question(acc), 0))); acc.Refused != "This question has closed." {
			w.Errorf("it is open: %+v", acc)
		}
		if err := new(action.Call).Ask(w.Context(), chat.Question{}); err == nil {
			w.Error("the zero call asks")
		}
	})
}

// /new asks first, and only the one who gave it is asked.
func TestNew(t *testing.T) {
	const asked = "Forget this conversation? Messages in the chat won't be deleted."
	for name, c := range map[string]struct {
		answer string
		ends   string
		after  []string
	}{
		"yes": {"forget it", "→ **Forget it**\n\nDone. I've forgotten this conversation.", []string{"B"}},
		"no":  {"2", "→ **Keep it**\n\nOkay, nothing was forgotten.", []string{"A", "You said: A", "B"}},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			n := w.start()
			w.waitAnswer(n.sendText("A"))
			acc := n.sendText("/new")
			w.wantAnswer(acc, answer.Completed, asked)
			if acc := n.deliver(chat.Choice(pressed(w.question(acc), 0).by("bob"))); acc.Refused != "This choice is not yours to make." {
				w.Errorf("bob: %+v", acc)
			}
			w.wantAnswer(n.sendText(c.answer), answer.Completed, asked+"\n\n"+c.ends)
			w.accepted = nil
			w.chat.forgetSeen()
			w.wantAnswer(n.sendText("B"), answer.Completed, "You said: B")
			if got := w.model.requests()[1].texts(); !slices.Equal(got, c.after) {
				w.Errorf("the model was asked %q; want %q", got, c.after)
			}
			w.wantVisible("You said: A", asked+"\n\n"+c.ends, "You said: B")
		}))
	}
}

func TestBadQuestions(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.waitAnswer(n.sendText("A"))
		for name, q := range map[string]chat.Question{
			"no options": {Handler: action.AsMessage}, "an empty one": {Handler: action.AsMessage, Options: []string{" "}},
			"too many": {Handler: action.AsMessage, Options: make([]string, 11)}, "no handler": {Options: []string{"Yes"}},
		} {
			if _, err := n.Say(w.Context(), chat.Notice{To: chat.Address{Room: room}, Text: "?", Ask: &q}); err == nil {
				w.Errorf("%s: asked", name)
			}
		}
	})
}
