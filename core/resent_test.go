package core_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/subtest"
)

// IN-16: a message that arrives again while its own run waits for a choice is not that choice, whichever replica it reaches.
// The run keeps its input: its answer is stored.
func TestResentMessageIsNoChoice(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		withHarness(t, func(w *harness) {
			a := &asking{}
			w.addActions(&fakeAction{name: "PLAY", effect: action.Writes, limit: time.Hour, do: a.act})
			w.model.queue([]step{write(fox), call(0, "a", "PLAY", "{}")}, []step{write("Enjoy.")})
			n := w.start()
			m := w.message(room, "ada", "Rain") // also the name of an option
			first := n.send(m)
			time.Sleep(time.Second)
			at := n
			if elsewhere {
				at = w.start()
			}
			if again := at.send(m); !again.Duplicate || again.Run != first.Run || again.Chosen || again.Altered {
				w.Errorf("again: %+v", again)
			}
			time.Sleep(time.Minute)
			if !a.over.IsZero() {
				w.Fatalf("chosen is %+v, %v", a.chosen, a.err)
			}
			n.deliver(chat.Choice(pressed(w.question(first), 0)))
			w.wantAnswer(first, answer.Completed, fox+"\n\nNow playing Dunes\n\nEnjoy.")
		})
	}
}

// IN-16: an old message that arrives again while /new asks does not clear the room.
func TestResentNumberForgetsNothing(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		m := w.message(room, "ada", "1")
		first := n.send(m)
		w.wantAnswer(first, answer.Completed, "You said: 1")
		w.waitAnswer(n.sendText("/new"))
		if again := n.send(m); !again.Duplicate || again.Run != first.Run {
			w.Errorf("again: %+v", again)
		}
		time.Sleep(time.Minute)
		if got := w.storedText(m.ID); got != "1" {
			w.Errorf(`the message says %q; want "1"`, got)
		}
		w.wantAnswer(n.sendText("B"), answer.Completed, "You said: B")
		if got := w.model.requests()[1].texts(); !slices.Equal(got, []string{"1", "You said: 1", "B"}) {
			w.Errorf("the model was asked %q", got)
		}
	})
}

// IN-16: a known message changes nothing else either: it is not asked again whether its author may write, no turn gives way,
// and a choice that was typed stays one for anyone who sends it again.
func TestResentMessageOnlyAttaches(t *testing.T) {
	t.Run("not invited any more", subtest.Of(withHarness, func(w *harness) {
		n := w.start()
		m := w.message(room, "ada", "/help")
		first := n.send(m)
		w.waitAnswer(first)
		delete(w.cfg.Access.Allowed.Accounts, "ada")
		if again := n.send(m); !again.Duplicate || again.Run != first.Run {
			w.Errorf("again: %+v", again)
		}
	}))
	t.Run("a choice that was typed", subtest.Of(withQuestion, func(w *harness, n *process, c *chooser, _ chat.Question) {
		m := w.message(room, "ada", "yes")
		first := n.send(m)
		w.waitAnswer(first)
		if again := n.send(m); !again.Duplicate || again.Run != first.Run || !again.Chosen || len(c.chosen) != 1 {
			w.Errorf("again: %+v; chosen was %+v", again, c.chosen)
		}
	}))
	t.Run("a retry", subtest.Of(withHarness, func(w *harness) {
		n := w.start()
		w.waitAnswer(n.sendText("A"))
		m := w.message(room, "ada", "/retry")
		first := n.send(m)
		w.waitAnswer(first)
		w.model.queue([]step{write(fox), pause(time.Minute), write(" The end.")})
		later := n.sendText("B")
		time.Sleep(time.Second)
		if again := n.send(m); !again.Duplicate || again.Run != first.Run {
			w.Errorf("again: %+v", again)
		}
		w.wantAnswer(later, answer.Completed, fox+" The end.")
		w.chat.forgetSeen() // the store need not hold the first texts any longer
	}))
	t.Run("with another text", subtest.Of(withHarness, func(w *harness) {
		n := w.start()
		m := w.message(room, "ada", "A")
		first := n.send(m)
		w.waitAnswer(first)
		m.Text = strings.Repeat("B", 10)
		if again := n.send(m); !again.Duplicate || !again.Altered || again.Run != first.Run {
			w.Errorf("again: %+v", again)
		}
		if known, err := n.Known(w.Context(), m.ID); err != nil || !known {
			w.Errorf("known: %v, %v", known, err)
		}
		if known, err := n.Known(w.Context(), "fake/ada/never"); err != nil || known {
			w.Errorf("what never came is known: %v, %v", known, err)
		}
	}))
}
