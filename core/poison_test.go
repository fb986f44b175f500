package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/gatewaytest"
)

// lives starts one process after the other, each when the one before has died, and returns how many have died. A process
// dies a second after the model is asked what kills says.
func (w *world) lives(most int, kills func(last string) bool) (died int) {
	w.Helper()
	return w.livesAs(most, kills, false)
}

// livesAs is lives; if tool, the process dies while the action LOOK runs that the model calls.
func (w *world) livesAs(most int, kills func(last string) bool, tool bool) (died int) {
	w.Helper()
	sound := w.cfg
	for range most {
		p := &gatewaytest.Faults{}
		w.cfg = sound
		w.wrap(p)
		dead, once := make(chan struct{}), sync.Once{}
		w.model.mu.Lock()
		w.model.play = func(r llm.Request) []step {
			last := r.Messages[len(r.Messages)-1].Text
			if kills(last) {
				die := func() {
					p.Kill()
					once.Do(func() { close(dead) })
				}
				if tool {
					time.AfterFunc(time.Second, die)
					return []step{call(0, "l", "LOOK", "{}")}
				}
				return []step{pause(time.Second), func(context.Context) (*llm.Chunk, error) {
					die()
					return nil, chat.ErrCrashed
				}}
			}
			return []step{pause(2 * time.Second), write("You said: " + last)}
		}
		w.model.mu.Unlock()
		n := w.start()
		select {
		case <-dead:
			died++
			_ = n.Stop()
			time.Sleep(20 * time.Second) // until the dead process's lease has ended
		case <-time.After(3 * time.Minute):
			w.cfg = sound
			return died
		}
	}
	w.cfg = sound
	return died
}

// waits accepts a message while no process runs.
func (w *world) waits(in chat.RoomID, author chat.EntityID, text string) chat.Accepted {
	w.Helper()
	m := w.message(in, author, text)
	acc, err := w.Store.Accept(w.Context(), m, chat.JoinRule{})
	w.Must(err)
	w.accepted = append(w.accepted, m.ID)
	return acc
}

// crowd has each of many people ask something in a room of their own, while no process runs.
func (w *world) crowd(texts ...string) (all []chat.Accepted) {
	w.Helper()
	w.model.where = func(r llm.Request) chat.RoomID { return chat.RoomID("fake/" + r.Messages[len(r.Messages)-1].Text) }
	for _, text := range texts {
		w.cfg.Access.People[chat.EntityID(text)] = true
		all = append(all, w.waits(chat.RoomID("fake/"+text), chat.EntityID(text), text))
	}
	return all
}

// asks counts how often the model was asked text.
func (w *world) asks(text string) (n int) {
	for _, c := range w.model.asked() {
		if c.Messages[len(c.Messages)-1].Text == text {
			n++
		}
	}
	return n
}

// IN-11, IN-18: a message at which the process dies is set aside after three deaths that are blamed on it, visibly, and the room goes on. The
// first two come while another answer is written, and only make it a suspect.
func TestPoisonIsSetAside(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cfg.Turns.Direct = schedule.Queue
		w.cfg.Access.People["bob"] = true
		w.model.where = func(r llm.Request) chat.RoomID {
			if last := r.Messages[len(r.Messages)-1].Text; last == "elsewhere" {
				return "fake/bob"
			}
			return room
		}
		first := w.start()
		_ = first.Stop()
		var accepted []chat.Accepted
		for _, m := range []chat.Message{
			w.message(room, "ada", "poison"), w.message(room, "ada", "after it"), w.message("fake/bob", "bob", "elsewhere"),
		} {
			acc, err := w.Store.Accept(w.Context(), m, chat.JoinRule{})
			w.Must(err)
			w.accepted = append(w.accepted, m.ID)
			accepted = append(accepted, acc)
		}
		died := w.lives(10, func(last string) bool { return last == "poison" })
		if died != 5 || w.asks("poison") != 5 {
			t.Errorf("%d processes died, and the model was asked %d times; want 5 of both", died, w.asks("poison"))
		}
		const line = "I couldn't finish answering this. Please ask again or rephrase it."
		w.wants(accepted[0], answer.Failed, line)
		w.wants(accepted[1], answer.Completed, "You said: after it")
		w.wants(accepted[2], answer.Completed, "You said: elsewhere")
		if got := w.chat.visible(); !slices.Contains(got, line) {
			t.Errorf("the chat shows %q", got)
		}
		if !strings.Contains(w.Logged.String(), "set aside") {
			t.Error("the log does not tell of it")
		}
	})
}

// IN-18: what can be blamed at once is set aside after three deaths: a message that is alone in its process, or in a tool when that dies.
func TestBlamedPoisonIsSetAsideSoon(t *testing.T) {
	for name, others := range map[string][]string{"alone": nil, "in a tool": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.plug(&fakeAction{name: "LOOK", do: lasts(10 * time.Second)})
				accepted := w.crowd(append([]string{"poison"}, others...)...)
				died := w.livesAs(10, func(last string) bool { return last == "poison" }, others != nil)
				if died != 3 {
					t.Errorf("%d processes died; want 3", died)
				}
				w.wants(accepted[0], answer.Failed, llm.SetAside.Sentence())
				for i, text := range others {
					w.wants(accepted[i+1], answer.Completed, "You said: "+text)
				}
			})
		})
	}
}

// IN-18: who was only there when the processes died is answered.
func TestOnlyPoisonIsSetAside(t *testing.T) {
	inWorld(t, func(w *world) {
		accepted := w.crowd("poison", "a", "b", "c", "d", "e")
		if died := w.lives(10, func(last string) bool { return last == "poison" }); died != 5 {
			t.Errorf("%d processes died; want 5", died)
		}
		w.wants(accepted[0], answer.Failed, llm.SetAside.Sentence())
		for i, text := range []string{"a", "b", "c", "d", "e"} {
			w.wants(accepted[i+1], answer.Completed, "You said: "+text)
		}
	})
}

// IN-18: a machine that dies again and again, at whatever it does, sets nothing aside that it can bring to an end. Suspects run
// one at a time, after a pause, beside what is new.
func TestBadLuckIsNoPoison(t *testing.T) {
	inWorld(t, func(w *world) {
		accepted := w.crowd("a", "b", "c", "d")
		deaths := 2
		if died := w.lives(5, func(last string) bool {
			dies := last == "d" && deaths > 0
			if dies {
				deaths--
			}
			return dies
		}); died != 2 {
			t.Fatalf("%d processes died; want 2", died)
		}
		for i, text := range []string{"a", "b", "c", "d"} {
			w.wants(accepted[i], answer.Completed, "You said: "+text)
		}
		var last []modelCall
		for _, c := range w.model.asked() {
			if d := c.To.Sub(c.From); d >= 2*time.Second && c.Cause == nil {
				last = append(last, c)
			}
		}
		slices.SortFunc(last, func(a, b modelCall) int { return a.From.Compare(b.From) })
		for i := range last {
			if i > 0 && last[i].From.Before(last[i-1].To) {
				t.Errorf("%v: two suspects at a time", last[i].From)
			}
		}
	})
}

// IN-18: a suspect waits, and what is new in other rooms does not wait for it; a stop ends it at once.
func TestSuspectsPause(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cfg.Access.People["bob"] = true
		accepted := w.crowd("a", "b")
		w.lives(2, func(string) bool { return true })
		w.model.mu.Lock()
		w.model.play = nil
		w.model.mu.Unlock()
		begun := time.Now()
		n := w.start()
		m := w.message("fake/bob", "bob", "new")
		w.wants(n.submit(m), answer.Completed, "You said: new")
		_, err := n.ProcessMessage(w.Context(), chat.Command{Room: "fake/a", Author: "a", Name: chat.Stop})
		w.Must(err)
		w.wants(accepted[0], answer.Stopped, "")
		w.wants(accepted[1], answer.Completed, "You said: b")
		for _, c := range w.model.asked() {
			at := c.From.Sub(begun)
			switch last := c.Messages[len(c.Messages)-1].Text; {
			case at < 0:
			case last == "a", last == "b" && at < time.Second, last == "new" && at > 0:
				t.Errorf("%v after the start the model was asked %q", at, last)
			}
		}
	})
}

// IN-18: a planned stop is no death, but each attempt costs: the sixth is the last.
func TestPlannedStopsAreNoDeaths(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cfg.Grace = time.Second
		w.model.play = func(llm.Request) []step { return []step{pause(time.Minute), write("Done.")} }
		acc := w.waits(room, "ada", "A")
		for i := range 6 {
			n := w.start()
			time.Sleep(10 * time.Second)
			n.shutdown()
			if r := w.run(acc); r.Deaths != 0 || r.Attempts != i+1 || r.Outcome.Done() {
				t.Fatalf("after %d stops the run is %+v", i+1, r)
			}
			time.Sleep(time.Minute)
			if r := w.run(acc); r.Deaths != 0 {
				t.Fatalf("after %d stops, when no process is alive, the run is %+v", i+1, r)
			}
		}
		w.start()
		w.wants(acc, answer.Failed, llm.SetAside.Sentence())
		if got := len(w.model.asked()); got != 6 {
			t.Errorf("the model was asked %d times; want 6", got)
		}
	})
}

// IN-18: an attempt is counted before the model is asked. Where it can't be stored, the model is not asked.
func TestAttemptsAreCountedFirst(t *testing.T) {
	inWorld(t, func(w *world) {
		p := &gatewaytest.Faults{}
		p.Refuse(func(name string) error {
			if name == "attempt" {
				return errDown
			}
			return nil
		})
		w.wrap(p)
		n := w.start()
		acc := n.say("A")
		time.Sleep(10 * time.Second)
		if got := len(w.model.asked()); got != 0 {
			t.Errorf("the model was asked %d times before that was counted", got)
		}
		p.Refuse(nil)
		w.wants(acc, answer.Completed, "You said: A")
		if r := w.run(acc); r.Attempts != 1 {
			t.Errorf("%d attempts", r.Attempts)
		}
	})
}

// IN-18: the owner is told once, in private, and a run is retried in its own message, also after others.
func TestSetAsideIsToldAndRetried(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cfg.Access.Owners = map[chat.EntityID]bool{"olga": true}
		poison := w.crowd("olga", "poison")[1]
		var cured atomic.Bool
		w.lives(10, func(last string) bool { return last == "poison" && !cured.Load() })
		line := llm.SetAside.Sentence()
		w.wants(poison, answer.Failed, line)
		told := 0
		for _, text := range w.chat.visible() {
			if strings.Contains(text, "`gateway runs`") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("the owner was told %d times: %q", told, w.chat.visible())
		}
		n := w.start()
		w.wants(n.submit(w.message("fake/poison", "poison", "next")), answer.Completed, "You said: next")
		cured.Store(true)
		w.chat.forget()
		w.Must(n.RetryRun(w.Context(), poison.Run))
		w.wants(poison, answer.Completed, "You said: poison")
		if got := w.chat.visible(); slices.Contains(got, line) || !slices.Contains(got, "You said: poison") {
			t.Errorf("the chat shows %q", got)
		}
		if err := n.RetryRun(w.Context(), poison.Run); !errors.Is(err, chat.ErrNotFound) {
			t.Errorf("retried once more: %v", err)
		}
	})
}

// IN-18: what no user had to answer is set aside in silence.
func TestSetAsideInSilence(t *testing.T) {
	inWorld(t, func(w *world) {
		m := w.message(group, "ada", "poison")
		acc, err := w.Store.Accept(w.Context(), m, chat.JoinRule{Kind: chat.RunDecide})
		w.Must(err)
		w.lives(10, func(string) bool { return true })
		if o, said := w.ended(acc); o.Failure != llm.SetAside || !o.Withdrawn || said != "" || len(w.chat.visible()) > 0 {
			t.Errorf("it is %+v and said %q", o, said)
		}
		if got := len(w.model.asked()); got != 3 {
			t.Errorf("the model was asked %d times", got)
		}
	})
}
