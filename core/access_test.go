package core_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
)

// I13, IN-14, and who is answered where. What is refused or ignored costs no call of the model.
func TestWhoIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		in     core.RoomID
		author core.EntityID
		edit   func(*core.Message)
		runs   bool
		calls  int
	}{
		"a friend in private":           {room, "ada", nil, true, 1},
		"a friend in a group":           {group, "ada", nil, false, 0},
		"a friend addressing the agent": {group, "ada", func(m *core.Message) { m.Addressed = true }, true, 1},
		"a name in the text only":       {group, "ada", func(m *core.Message) { m.Text = "@Agent Agent: hello" }, false, 0},
		"a stranger in a group":         {group, "eve", func(m *core.Message) { m.Addressed = true }, false, 0},
		"a stranger in private":         {room, "eve", nil, true, 0},
		"a bot in private":              {room, "ada", func(m *core.Message) { m.Bot = true }, false, 0},
		"a bot addressing the agent":    {group, "ada", func(m *core.Message) { m.Bot, m.Addressed = true, true }, false, 0},
		"the agent itself":              {room, agent, nil, false, 0},
		"nothing but spaces":            {room, "ada", func(m *core.Message) { m.Text = " \n" }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				n := w.start()
				m := w.message(c.in, c.author, "Hello")
				if c.edit != nil {
					c.edit(&m)
				}
				acc := n.submit(m)
				time.Sleep(time.Minute)
				if runs := acc.Run != ""; runs != c.runs || len(w.model.asked()) != c.calls {
					w.Errorf("it has a run: %v; the model was asked %d times", runs, len(w.model.asked()))
				}
				if acc.Run != "" {
					w.ended(acc)
				}
			})
		})
	}
}

// A group is overheard: what was said without addressing the agent is part of the next prompt, with names.
func TestGroupIsRemembered(t *testing.T) {
	inWorld(t, func(w *world) {
		n := w.start()
		n.submit(w.message(group, "eve", "It rains."))
		m := w.message(group, "ada", "Is it so?")
		m.Addressed = true
		acc := n.submit(m)
		n.submit(w.message(group, "eve", "Later."))
		w.wants(acc, core.Completed, "You said: ada: Is it so?")
		if got := w.model.asked()[0].texts(); !slices.Equal(got, []string{"eve: It rains.", "ada: Is it so?"}) {
			w.Errorf("the prompt holds %q", got)
		}
	})
}

// A stranger hears one polite line, once, however much is written, and with it no promise of more.
func TestStranger(t *testing.T) {
	inWorld(t, func(w *world) {
		n := w.start()
		first := n.submit(w.message(room, "eve", "Hello"))
		o, said := w.ended(first)
		if o.Status != core.Completed || !strings.HasPrefix(said, "Sorry, ") {
			w.Errorf("a stranger is told %q (%s)", said, o.Status)
		}
		for range 40 {
			w.wants(n.submit(w.message(room, "eve", "Hello?")), core.Ignored, "")
		}
		synctest.Wait()
		if got := w.chat.visible(); !slices.Equal(got, []string{said}) {
			w.Errorf("the chat shows %q", got)
		}
		if n := len(w.model.asked()); n != 0 {
			w.Errorf("the model was asked %d times", n)
		}
	})
}

// A stranger stops nobody's answer; those who may ask may.
func TestStopIsForTheInvited(t *testing.T) {
	inWorld(t, func(w *world) {
		n := w.start()
		w.model.queue([]step{write("An answer that takes its time. "), pause(time.Minute), write("The end.")})
		m := w.message(group, "ada", "Tell me")
		m.Addressed = true
		acc := n.submit(m)
		time.Sleep(time.Second)
		for _, author := range []core.EntityID{"eve", ""} {
			if _, err := n.Submit(w.Context(), core.Command{Room: group, Author: author, Name: core.Stop}); err != nil {
				w.Error(err)
			}
		}
		w.wants(acc, core.Completed, "An answer that takes its time. The end.")
	})
}

// An open connector looks after its people itself.
func TestOpenConnector(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cfg.Access.Open = map[string]bool{"fake": true}
		n := w.start()
		w.wants(n.submit(w.message(room, "anybody", "Hello")), core.Completed, "You said: Hello")
	})
}
