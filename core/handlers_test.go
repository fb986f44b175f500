package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/sim"
)

func (n *process) deliver(in chat.Inbound) chat.Accepted {
	n.h.Helper()
	acc := require.Value(n.ProcessMessage(n.h.Context(), in))(n.h)
	return acc
}

// edit changes a message. What was seen of its answer so far is held against nothing: there may be another.
func (n *process) edit(m chat.Message, text string) {
	n.h.Helper()
	if r, err := n.h.Store.RunOf(n.h.Context(), m.ID); err == nil {
		n.h.chat.mu.Lock()
		n.h.chat.seen = slices.DeleteFunc(n.h.chat.seen, func(s sim.Sight) bool { return s.Run == r.ID })
		n.h.chat.mu.Unlock()
	}
	m.Text = text
	n.deliver(chat.Edited{Message: chat.Message{Memory: m.Memory}})
}

// remove deletes a message, of which no answer is owed any more.
func (n *process) remove(m chat.Message) {
	n.h.Helper()
	n.deliver(chat.Deleted{Room: m.Room, ID: m.ID})
	n.h.accepted = slices.DeleteFunc(n.h.accepted, func(id chat.MemoryID) bool { return id == m.ID })
}

func (w *harness) wantVisible(want ...string) {
	w.Helper()
	if got := w.chat.visible(); !slices.Equal(got, want) {
		w.Errorf("the chat shows %q, want %q", got, want)
	}
}

// wantModelCalls fails unless the model was asked so often.
func (w *harness) wantModelCalls(want int) {
	w.Helper()
	if got := len(w.model.requests()); got != want {
		w.Errorf("the model was asked %d times; want %d", got, want)
	}
}

// wantStored compares the texts of a room.
func (w *harness) wantStored(in chat.RoomID, want ...string) {
	w.Helper()
	all := require.Value(w.Store.Recent(w.Context(), in, chat.Said, 0, 100))(w)
	var got []string
	for _, m := range all {
		got = append(got, m.Text)
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s holds %q, want %q", in, got, want)
	}
}

// IN-12: the answer to an edited question is written again, in its own message, which stands until then.
func TestEditIsAnsweredAgain(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		m := w.message(room, "ada", "fox?")
		acc := n.send(m)
		w.wantAnswer(acc, answer.Completed, "You said: fox?")
		w.model.queue([]step{pause(time.Minute), write("You said: hare?")})
		n.edit(m, "hare?")
		time.Sleep(10 * time.Second)
		w.wantVisible("You said: fox?")
		w.wantAnswer(acc, answer.Completed, "You said: hare?")
		w.wantVisible("You said: hare?")
		w.wantStored(room, "hare?", "You said: hare?")
		if calls := w.model.requests(); len(calls) != 2 || !slices.Equal(calls[1].texts(), []string{"hare?"}) {
			t.Errorf("the model was asked %+v", calls)
		}
		w.wantAnswer(n.sendText("next"), answer.Completed, "You said: next")
	})
}

// IN-12: an edit while the answer is being written ends that at once; there are never two writers.
func TestEditWhileAnswering(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)})
		m := w.message(room, "ada", "fox?")
		acc := n.send(m)
		time.Sleep(time.Second)
		edited := time.Now()
		n.edit(m, "hare?")
		w.wantAnswer(acc, answer.Completed, "You said: hare?")
		w.wantVisible("You said: hare?")
		if calls := w.model.requests(); len(calls) != 2 || !calls[0].To.Equal(edited) {
			t.Errorf("the model was asked %+v", calls)
		}
	})
}

// IN-12: another process may hold the run: it finds out with its next note, and the run is answered again.
func TestEditElsewhere(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.model.queue([]step{write(fox), pause(time.Second), write("."), pause(time.Hour)})
		a := w.start()
		m := w.message(room, "ada", "fox?")
		acc := a.send(m)
		time.Sleep(2 * time.Second)
		w.start().edit(m, "hare?")
		time.Sleep(30 * time.Second)
		w.wantAnswer(acc, answer.Completed, "You said: hare?")
		w.wantVisible("You said: hare?")
	})
}

// IN-12: a run that waits reads the new text.
func TestEditWhileWaiting(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Direct = schedule.Queue
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("A")})
		first := n.sendText("a?")
		m := w.message(room, "ada", "b?")
		second := n.send(m)
		n.edit(m, "c?")
		w.wantAnswer(first, answer.Completed, "A")
		w.wantAnswer(second, answer.Completed, "You said: c?")
		w.wantModelCalls(2)
	})
}

// IN-12: these edits start nothing.
func TestEditsThatAreNotAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		remember bool // the policy
		stopped  bool
		later    bool // there is a later question
		after    time.Duration
		text     string
		as       chat.EntityID
		want     string // what is remembered of the message
	}{
		"an unfurl":            {text: "fox?", want: "fox?"},
		"nothing":              {text: " ", want: "fox?"},
		"by another user":      {text: "hare?", as: "eve", want: "fox?"},
		"by the agent":         {text: "hare?", as: agent, want: "fox?"},
		"the policy":           {text: "hare?", remember: true, want: "hare?"},
		"too late":             {text: "hare?", after: 16 * time.Minute, want: "hare?"},
		"a later question":     {text: "hare?", later: true, want: "hare?"},
		"what was stopped":     {text: "hare?", stopped: true, want: "hare?"},
		"text that is cleaned": {text: "fox?\x00", want: "fox?"},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			if c.remember {
				w.cfg.Turns.OnEdit = schedule.RememberEdit
			}
			n := w.start()
			m := w.message(room, "ada", "fox?")
			if c.stopped {
				w.model.queue([]step{write(fox), pause(time.Hour)})
			}
			acc := n.send(m)
			if c.stopped {
				time.Sleep(time.Second)
				n.stopAnswer(room)
			}
			_, said := w.waitAnswer(acc)
			calls := 1
			if c.later {
				w.waitAnswer(n.sendText("next"))
				calls++
			}
			time.Sleep(c.after)
			e := m.Memory
			if e.Text = c.text; c.as != "" {
				e.Author = c.as
			}
			for range 2 {
				n.deliver(chat.Edited{Message: chat.Message{Memory: e}})
			}
			time.Sleep(time.Minute)
			if got := w.storedText(m.ID); got != c.want {
				w.Errorf("remembered is %q, want %q", got, c.want)
			}
			if got := w.storedText(w.run(acc).Said()); got != said || len(w.model.requests()) != calls {
				w.Errorf("the answer is %q after %d calls; want %q and %d", got, len(w.model.requests()), said, calls)
			}
		}))
	}
}

// A client's request for another answer is an edit with the same text. It needs no permission of the policy and has no time limit, but
// does not repeat the answer's actions.
func TestAnotherAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		remember, stopped, acts bool
		after                   time.Duration
		again, refused          bool
	}{
		"at once":            {again: true},
		"an hour later":      {after: time.Hour, again: true},
		"the policy":         {remember: true, again: true},
		"after it has acted": {acts: true, refused: true},
		"after a stop":       {stopped: true},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			if c.remember {
				w.cfg.Turns.OnEdit = schedule.RememberEdit
			}
			w.addActions(&fakeAction{name: "WRITE", effect: action.Writes})
			n := w.start()
			m := w.message(room, "ada", "fox?")
			switch {
			case c.stopped:
				w.model.queue([]step{write(fox), pause(time.Hour)})
			case c.acts:
				w.model.queue([]step{call(0, "a", "WRITE", "{}")}, []step{write("It is done.")})
			}
			acc := n.send(m)
			if c.stopped {
				time.Sleep(time.Second)
				n.stopAnswer(room)
			}
			w.waitAnswer(acc)
			time.Sleep(c.after)
			before := len(w.model.requests())
			got := n.deliver(chat.Edited{Message: chat.Message{Memory: m.Memory}, Again: true})
			if got.Run != "" != c.again || got.Refused != "" != c.refused || c.again && got.Run != acc.Run {
				w.Errorf("accepted as %+v", got)
			}
			w.waitAnswer(acc)
			time.Sleep(time.Minute)
			if asked := len(w.model.requests()) > before; asked != c.again {
				w.Errorf("the model was asked again: %v, want %v", asked, c.again)
			}
		}))
	}
}

// IN-12: what no user answers, or no user knows, starts no run when it is edited.
func TestEditOfRemarks(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Allowed.Accounts["bot"] = true
		n := w.start()
		unknown := w.message(room, "ada", "A")
		n.deliver(chat.Edited{Message: chat.Message{Memory: unknown.Memory}})
		n.deliver(chat.Deleted{Room: room, ID: unknown.ID})
		bot := w.message(group, "bot", "beep")
		bot.Bot, bot.Addressed = true, true
		n.send(bot)
		n.edit(bot, "boop")
		w.wantStored(room)
		w.wantStored(group, "boop")
		w.wantModelCalls(0)
	})
}

// A mention that an edit adds does not change which message the question replies to, also if the platform does not name that again.
func TestMentionByEditKeepsTheReply(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		m := w.message(group, "ada", "why?")
		m.InReplyTo, m.Quoted = "fake/other", chat.Quoted{Name: "Bob", Text: "It rains."}
		n.send(m)
		e := w.message(group, "ada", "robot, why?")
		e.ID, e.Addressed = m.ID, true
		w.waitAnswer(n.deliver(chat.Edited{Message: e}))
		if got := promptText(w.lastPrompt()); !strings.Contains(got, "[In reply to Bob: It rains.]") {
			w.Errorf(`the prompt is %q; want it to contain "[In reply to Bob: It rains.]"`, got)
		}
	})
}

// ST-21: with the question goes the answer that is being written.
func TestDeleteWhileAnswering(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)})
		m := w.message(room, "ada", "fox?")
		acc := n.send(m)
		time.Sleep(time.Second)
		w.wantVisible(fox)
		n.remove(m)
		n.remove(m)
		if o, said := w.waitAnswer(acc); o.Status != answer.Stopped || !o.Withdrawn || said != "" {
			t.Errorf("it ended as %+v with %q", o, said)
		}
		w.wantVisible()
		w.wantStored(room)
		w.wantAnswer(n.sendText("next"), answer.Completed, "You said: next")
	})
}

// A waiting run whose question is deleted never asks the model; the one under way goes on.
func TestDeleteWhileWaiting(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Direct = schedule.Queue
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("A")})
		first := n.sendText("a?")
		m := w.message(room, "ada", "b?")
		second := n.send(m)
		n.remove(m)
		w.wantAnswer(first, answer.Completed, "A")
		if o, _ := w.waitAnswer(second); o.Status != answer.Stopped || !o.Withdrawn {
			t.Errorf("it ended as %+v", o)
		}
		w.wantModelCalls(1)
		w.wantVisible("A")
	})
}

// One of several questions is deleted: the others are answered.
func TestDeleteOneOfTwo(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Direct = schedule.Collect
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("A")})
		n.sendText("a?")
		time.Sleep(time.Second) // it is under way: the next ones wait
		m := w.message(room, "ada", "b?")
		n.send(m)
		second := n.sendText("c?")
		n.remove(m)
		w.wantAnswer(second, answer.Completed, "You said: c?")
		w.wantStored(room, "a?", "A", "c?", "You said: c?")
	})
}

// A reaction is a remark: it is told to the model later, and starts nothing by itself.
func TestReaction(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		m := w.message(room, "ada", strings.Repeat("12 4\n6789 ", 6))
		like := chat.Reaction{Room: room, Author: "ada", Name: "ada", On: m.ID, Emoji: "👍", Added: true, At: time.Now()}
		n.deliver(like) // in a room that no user knows
		answer := w.waitAnswer
		_, said := answer(n.send(m))
		first := n.deliver(like)
		if again := n.deliver(like); first.Run != "" || first.Duplicate || !again.Duplicate || again.Memory != first.Memory {
			t.Errorf("accepted as %+v, then %+v", first, again)
		}
		like.Added = false
		n.deliver(like)
		like.Author = agent
		n.deliver(like)
		like.Author, like.On, like.Added = "bob", "fake/unknown", true
		n.deliver(like)
		time.Sleep(time.Minute)
		quote := strings.Repeat("12 4 6789 ", 5) + "…"
		w.wantStored(room, m.Text, said, `*Added 👍 to: "`+quote+`"*`, `*Removed 👍 to: "`+quote+`"*`, `*Added 👍 to a message*`)
		w.wantModelCalls(1)
		w.waitAnswer(n.sendText("next"))
		if texts := w.model.requests()[1].texts(); len(texts) != 6 {
			t.Errorf("the model was told %q; want 6", texts)
		}
	})
}

// A reaction that was taken back can be given again, and each event counts once: by its id on the platform, or by its time.
func TestReactionGivenAgain(t *testing.T) {
	for name, event := range map[string]func(i int) string{"by id": func(i int) string { return fmt.Sprint("update ", i) }, "by time": func(int) string { return "" }} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			n, m := w.start(), w.message(room, "ada", "Hello")
			_, said := w.waitAnswer(n.send(m))
			var all []chat.Reaction
			at := time.Now()
			for i, added := range []bool{true, false, true, false, true} {
				if name == "by time" {
					at = at.Add(time.Second)
				}
				all = append(all, chat.Reaction{Room: room, Author: "ada", Name: "ada", On: m.ID, Emoji: "👍", Added: added, Event: event(i), At: at})
			}
			for _, again := range []bool{false, true} { // all are delivered twice
				for i, r := range all {
					if acc := n.deliver(r); acc.Duplicate != again {
						w.Errorf("reaction %d is accepted as %+v", i, acc)
					}
				}
			}
			same := all[len(all)-1]
			same.Event, same.At = "another "+same.Event, same.At.Add(time.Second)
			if acc := n.deliver(same); !acc.Duplicate {
				w.Errorf("another event that changes nothing is accepted as %+v", acc)
			}
			const add, remove = `*Added 👍 to: "Hello"*`, `*Removed 👍 to: "Hello"*`
			w.wantStored(room, m.Text, said, add, remove, add, remove, add)
		}))
	}
}

// SE-20: of a room that is gone the settings go, and what is noted of its person; of one that is only cleared they stay.
func TestClearedEntirely(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		ctx, fred := w.Context(), chat.EntityID("fred")
		require.NoError(t, w.Store.SaveRoom(ctx, chat.Room{ID: room, Kind: chat.Direct}))
		for _, c := range []struct {
			cleared chat.Cleared
			left    int
		}{{chat.Cleared{Room: room}, 1}, {chat.Cleared{Room: room, Entirely: true, Person: fred}, 0}} {
			require.Value(w.Store.SaveEntity(ctx, chat.Entity{ID: fred, Details: map[string]string{"language": "French"}}))(t)
			require.NoError(t, w.Store.SaveNote(ctx, chat.RoomNote{Room: room, Kind: chat.SettingNote, Key: "tone", Text: "dry", At: time.Now()}))
			n.deliver(c.cleared)
			settings, err := w.Store.Notes(ctx, room, chat.SettingNote, 5)
			if err != nil || len(settings) != c.left {
				t.Errorf("%+v leaves the settings %v, %v; want %v", c.cleared, settings, err, c.left)
			}
			if e, err := w.Store.Entity(ctx, fred); err != nil || len(e.Details) != c.left {
				t.Errorf("%+v leaves of the person %+v, %v", c.cleared, e, err)
			}
		}
	})
}

// What is cleared is not told to the model again; the answer under way ends by itself.
func TestCleared(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		n := w.start()
		w.waitAnswer(n.sendText("A"))
		w.model.queue([]step{pause(time.Minute), write("Late.")})
		running := n.sendText("B")
		time.Sleep(time.Second)
		for _, want := range []int{3, 0} {
			if acc := n.deliver(chat.Cleared{Room: room}); acc.Deleted != want {
				t.Errorf("%d memories were cleared, want %d", acc.Deleted, want)
			}
		}
		w.accepted = nil
		if o, said := w.waitAnswer(running); o.Status != answer.Completed || said != "" {
			t.Errorf("it ended as %+v with %q", o, said)
		}
		w.wantAnswer(n.sendText("C"), answer.Completed, "You said: C")
		w.wantStored(room, "C", "You said: C")
		if !strings.Contains(w.Logged.String(), "deleted=3") {
			t.Error("the log does not say how much was cleared")
		}
	})
}
