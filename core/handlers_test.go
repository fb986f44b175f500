package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/sim"
)

func (n *node) tell(in chat.Inbound) chat.Accepted {
	n.w.Helper()
	acc, err := n.ProcessMessage(n.w.Context(), in)
	n.w.Must(err)
	return acc
}

// edit changes a message. What was seen of its answer so far is held against nothing: there may be another.
func (n *node) edit(m chat.Message, text string) {
	n.w.Helper()
	if r, err := n.w.Store.RunOf(n.w.Context(), m.ID); err == nil {
		n.w.chat.mu.Lock()
		n.w.chat.seen = slices.DeleteFunc(n.w.chat.seen, func(s sim.Sight) bool { return s.Run == r.ID })
		n.w.chat.mu.Unlock()
	}
	m.Text = text
	n.tell(chat.Edited{Message: chat.Message{Memory: m.Memory}})
}

// remove deletes a message, of which no answer is owed any more.
func (n *node) remove(m chat.Message) {
	n.w.Helper()
	n.tell(chat.Deleted{Room: m.Room, ID: m.ID})
	n.w.accepted = slices.DeleteFunc(n.w.accepted, func(id chat.MemoryID) bool { return id == m.ID })
}

func (w *world) sees(want ...string) {
	w.Helper()
	if got := w.chat.visible(); !slices.Equal(got, want) {
		w.Errorf("the chat shows %q, want %q", got, want)
	}
}

// remembers compares the texts of a room.
func (w *world) remembers(in chat.RoomID, want ...string) {
	w.Helper()
	all, err := w.Store.Recent(w.Context(), in, chat.Said, 0, 100)
	w.Must(err)
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
	inWorld(t, func(w *world) {
		n := w.start()
		m := w.message(room, "ada", "fox?")
		acc := n.submit(m)
		w.wants(acc, answer.Completed, "You said: fox?")
		w.model.queue([]step{pause(time.Minute), write("You said: hare?")})
		n.edit(m, "hare?")
		time.Sleep(10 * time.Second)
		w.sees("You said: fox?")
		w.wants(acc, answer.Completed, "You said: hare?")
		w.sees("You said: hare?")
		w.remembers(room, "hare?", "You said: hare?")
		if calls := w.model.asked(); len(calls) != 2 || !slices.Equal(calls[1].texts(), []string{"hare?"}) {
			t.Errorf("the model was asked %+v", calls)
		}
		w.wants(n.say("next"), answer.Completed, "You said: next")
	})
}

// IN-12: an edit while the answer is being written ends that at once; there are never two writers.
func TestEditWhileAnswering(t *testing.T) {
	inWorld(t, func(w *world) {
		n := w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)})
		m := w.message(room, "ada", "fox?")
		acc := n.submit(m)
		time.Sleep(time.Second)
		edited := time.Now()
		n.edit(m, "hare?")
		w.wants(acc, answer.Completed, "You said: hare?")
		w.sees("You said: hare?")
		if calls := w.model.asked(); len(calls) != 2 || !calls[0].To.Equal(edited) {
			t.Errorf("the model was asked %+v", calls)
		}
	})
}

// IN-12: another process may hold the run: it finds out with its next note, and the run is answered again.
func TestEditElsewhere(t *testing.T) {
	inWorld(t, func(w *world) {
		w.model.queue([]step{write(fox), pause(time.Second), write("."), pause(time.Hour)})
		a := w.start()
		m := w.message(room, "ada", "fox?")
		acc := a.submit(m)
		time.Sleep(2 * time.Second)
		w.start().edit(m, "hare?")
		time.Sleep(30 * time.Second)
		w.wants(acc, answer.Completed, "You said: hare?")
		w.sees("You said: hare?")
	})
}

// IN-12: a run that waits reads the new text.
func TestEditWhileWaiting(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cfg.Turns.Direct = schedule.Queue
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("A")})
		first := n.say("a?")
		m := w.message(room, "ada", "b?")
		second := n.submit(m)
		n.edit(m, "c?")
		w.wants(first, answer.Completed, "A")
		w.wants(second, answer.Completed, "You said: c?")
		if n := len(w.model.asked()); n != 2 {
			t.Errorf("the model was asked %d times", n)
		}
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
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				if c.remember {
					w.cfg.Turns.OnEdit = schedule.RememberEdit
				}
				n := w.start()
				m := w.message(room, "ada", "fox?")
				if c.stopped {
					w.model.queue([]step{write(fox), pause(time.Hour)})
				}
				acc := n.submit(m)
				if c.stopped {
					time.Sleep(time.Second)
					n.stop(room)
				}
				_, said := w.ended(acc)
				calls := 1
				if c.later {
					w.ended(n.say("next"))
					calls++
				}
				time.Sleep(c.after)
				e := m.Memory
				if e.Text = c.text; c.as != "" {
					e.Author = c.as
				}
				for range 2 {
					n.tell(chat.Edited{Message: chat.Message{Memory: e}})
				}
				time.Sleep(time.Minute)
				if got := w.said(m.ID); got != c.want {
					t.Errorf("remembered is %q, want %q", got, c.want)
				}
				if got := w.said(w.run(acc).Said()); got != said || len(w.model.asked()) != calls {
					t.Errorf("the answer is %q after %d calls", got, len(w.model.asked()))
				}
			})
		})
	}
}

// IN-12: what no user answers, or no user knows, starts no run when it is edited.
func TestEditOfRemarks(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cfg.Access.People["bot"] = true
		n := w.start()
		unknown := w.message(room, "ada", "A")
		n.tell(chat.Edited{Message: chat.Message{Memory: unknown.Memory}})
		n.tell(chat.Deleted{Room: room, ID: unknown.ID})
		bot := w.message(group, "bot", "beep")
		bot.Bot, bot.Addressed = true, true
		n.submit(bot)
		n.edit(bot, "boop")
		w.remembers(room)
		w.remembers(group, "boop")
		if n := len(w.model.asked()); n != 0 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

// ST-21: with the question goes the answer that is being written.
func TestDeleteWhileAnswering(t *testing.T) {
	inWorld(t, func(w *world) {
		n := w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)})
		m := w.message(room, "ada", "fox?")
		acc := n.submit(m)
		time.Sleep(time.Second)
		w.sees(fox)
		n.remove(m)
		n.remove(m)
		if o, said := w.ended(acc); o.Status != answer.Stopped || !o.Withdrawn || said != "" {
			t.Errorf("it ended as %+v with %q", o, said)
		}
		w.sees()
		w.remembers(room)
		w.wants(n.say("next"), answer.Completed, "You said: next")
	})
}

// A waiting run whose question is deleted never asks the model; the one under way goes on.
func TestDeleteWhileWaiting(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cfg.Turns.Direct = schedule.Queue
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("A")})
		first := n.say("a?")
		m := w.message(room, "ada", "b?")
		second := n.submit(m)
		n.remove(m)
		w.wants(first, answer.Completed, "A")
		if o, _ := w.ended(second); o.Status != answer.Stopped || !o.Withdrawn {
			t.Errorf("it ended as %+v", o)
		}
		if n := len(w.model.asked()); n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
		w.sees("A")
	})
}

// One of several questions is deleted: the others are answered.
func TestDeleteOneOfTwo(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cfg.Turns.Direct = schedule.Collect
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("A")})
		n.say("a?")
		time.Sleep(time.Second) // it is under way: the next ones wait
		m := w.message(room, "ada", "b?")
		n.submit(m)
		second := n.say("c?")
		n.remove(m)
		w.wants(second, answer.Completed, "You said: c?")
		w.remembers(room, "a?", "A", "c?", "You said: c?")
	})
}

// A reaction is a remark: it is told to the model later, and starts nothing by itself.
func TestReaction(t *testing.T) {
	inWorld(t, func(w *world) {
		n := w.start()
		m := w.message(room, "ada", strings.Repeat("12 4\n6789 ", 6))
		like := chat.Reaction{Room: room, Author: "ada", Name: "ada", On: m.ID, Emoji: "👍", Added: true, At: time.Now()}
		n.tell(like) // in a room that no user knows
		answer := w.ended
		_, said := answer(n.submit(m))
		first := n.tell(like)
		if again := n.tell(like); first.Run != "" || first.Duplicate || !again.Duplicate || again.Memory != first.Memory {
			t.Errorf("accepted as %+v, then %+v", first, again)
		}
		like.Added = false
		n.tell(like)
		like.Author = agent
		n.tell(like)
		like.Author, like.On, like.Added = "bob", "fake/unknown", true
		n.tell(like)
		time.Sleep(time.Minute)
		quote := strings.Repeat("12 4 6789 ", 5) + "…"
		w.remembers(room, m.Text, said, `*Added 👍 to: "`+quote+`"*`, `*Removed 👍 to: "`+quote+`"*`, `*Added 👍 to a message*`)
		if n := len(w.model.asked()); n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
		w.ended(n.say("next"))
		if texts := w.model.asked()[1].texts(); len(texts) != 6 {
			t.Errorf("the model was told %q", texts)
		}
	})
}

// A reaction that was taken back can be given again, and each event counts once: by its id on the platform, or by its time.
func TestReactionGivenAgain(t *testing.T) {
	for name, event := range map[string]func(i int) string{"by id": func(i int) string { return fmt.Sprint("update ", i) }, "by time": func(int) string { return "" }} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				n, m := w.start(), w.message(room, "ada", "Hello")
				_, said := w.ended(n.submit(m))
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
						if acc := n.tell(r); acc.Duplicate != again {
							t.Errorf("reaction %d is accepted as %+v", i, acc)
						}
					}
				}
				same := all[len(all)-1]
				same.Event, same.At = "another "+same.Event, same.At.Add(time.Second)
				if acc := n.tell(same); !acc.Duplicate {
					t.Errorf("another event that changes nothing is accepted as %+v", acc)
				}
				const add, remove = `*Added 👍 to: "Hello"*`, `*Removed 👍 to: "Hello"*`
				w.remembers(room, m.Text, said, add, remove, add, remove, add)
			})
		})
	}
}

// SE-20: of a room that is gone the settings go, and what is noted of its person; of one that is only cleared they stay.
func TestClearedEntirely(t *testing.T) {
	inWorld(t, func(w *world) {
		n := w.start()
		ctx, fred := w.Context(), chat.EntityID("fred")
		if err := w.Store.SaveRoom(ctx, chat.Room{ID: room, Kind: chat.Direct}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			cleared chat.Cleared
			left    int
		}{{chat.Cleared{Room: room}, 1}, {chat.Cleared{Room: room, Entirely: true, Person: fred}, 0}} {
			if _, err := w.Store.Meet(ctx, chat.Entity{ID: fred, Details: map[string]string{"language": "French"}}); err != nil {
				t.Fatal(err)
			}
			if err := w.Store.SaveNote(ctx, chat.RoomNote{Room: room, Kind: chat.SettingNote, Key: "tone", Text: "dry", At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			n.tell(c.cleared)
			settings, err := w.Store.Notes(ctx, room, chat.SettingNote, 5)
			if err != nil || len(settings) != c.left {
				t.Errorf("%+v leaves the settings %v, %v", c.cleared, settings, err)
			}
			if e, err := w.Store.Entity(ctx, fred); err != nil || len(e.Details) != c.left {
				t.Errorf("%+v leaves of the person %+v, %v", c.cleared, e, err)
			}
		}
	})
}

// What is cleared is not told to the model again; the answer under way ends by itself.
func TestCleared(t *testing.T) {
	inWorld(t, func(w *world) {
		w.watched()
		n := w.start()
		w.ended(n.say("A"))
		w.model.queue([]step{pause(time.Minute), write("Late.")})
		running := n.say("B")
		time.Sleep(time.Second)
		for _, want := range []int{3, 0} {
			if acc := n.tell(chat.Cleared{Room: room}); acc.Deleted != want {
				t.Errorf("%d memories were cleared, want %d", acc.Deleted, want)
			}
		}
		w.accepted = nil
		if o, said := w.ended(running); o.Status != answer.Completed || said != "" {
			t.Errorf("it ended as %+v with %q", o, said)
		}
		w.wants(n.say("C"), answer.Completed, "You said: C")
		w.remembers(room, "C", "You said: C")
		if !strings.Contains(w.Logged.String(), "deleted=3") {
			t.Error("the log does not say how much was cleared")
		}
	})
}
