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
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
)

// crashRepeatedly starts one process after the other, each when the one before has died, and returns how many have died. A process
// dies a second after the model is asked what kills says.
func (w *harness) crashRepeatedly(most int, kills func(last string) bool) (died int) {
	w.Helper()
	return w.crashRepeatedlyIn(most, kills, false)
}

// crashRepeatedlyIn is lives; if tool, the process dies while the action LOOK runs that the model calls.
func (w *harness) crashRepeatedlyIn(most int, kills func(last string) bool, tool bool) (died int) {
	w.Helper()
	sound := w.cfg
	for range most {
		p := &gatewaytest.Faults{}
		w.cfg = sound
		w.wrap(p)
		dead, once := make(chan struct{}), sync.Once{}
		w.model.mu.Lock()
		w.model.respond = func(r llm.Request) []step {
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

// acceptOffline accepts a message while no process runs.
func (w *harness) acceptOffline(in chat.RoomID, author chat.EntityID, text string) chat.Accepted {
	w.Helper()
	m := w.message(in, author, text)
	acc := require.Value(w.Store.Accept(w.Context(), m, chat.JoinRule{}))(w)
	w.accepted = append(w.accepted, m.ID)
	return acc
}

// acceptFromMany has each of many people ask something in a room of their own, while no process runs.
func (w *harness) acceptFromMany(texts ...string) (all []chat.Accepted) {
	w.Helper()
	w.model.where = func(r llm.Request) chat.RoomID { return chat.RoomID("fake/" + r.Messages[len(r.Messages)-1].Text) }
	for _, text := range texts {
		w.cfg.Access.Allowed.Accounts[chat.EntityID(text)] = true
		all = append(all, w.acceptOffline(chat.RoomID("fake/"+text), chat.EntityID(text), text))
	}
	return all
}

// timesAsked counts how often the model was asked text.
func (w *harness) timesAsked(text string) (n int) {
	for _, c := range w.model.requests() {
		if c.Messages[len(c.Messages)-1].Text == text {
			n++
		}
	}
	return n
}

// IN-11, IN-18: a message at which the process dies is set aside after three deaths that are blamed on it, visibly, and the room goes on. The
// first two come while another answer is written, and only make it a suspect.
func TestPoisonIsSetAside(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Direct = schedule.Queue
		w.cfg.Access.Allowed.Accounts["bob"] = true
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
			acc := require.Value(w.Store.Accept(w.Context(), m, chat.JoinRule{}))(w)
			w.accepted = append(w.accepted, m.ID)
			accepted = append(accepted, acc)
		}
		died := w.crashRepeatedly(10, func(last string) bool { return last == "poison" })
		if died != 5 || w.timesAsked("poison") != 5 {
			t.Errorf("%d processes died, and the model was asked %d times; want 5 of both", died, w.timesAsked("poison"))
		}
		const line = "I couldn't finish answering this. Please ask again or rephrase it."
		w.wantAnswer(accepted[0], answer.Failed, line)
		w.wantAnswer(accepted[1], answer.Completed, "You said: after it")
		w.wantAnswer(accepted[2], answer.Completed, "You said: elsewhere")
		if got := w.chat.visible(); !slices.Contains(got, line) {
			t.Errorf("the chat shows %q; want them to contain %q", got, line)
		}
		if !strings.Contains(w.Logged.String(), "set aside") {
			t.Error("the log does not tell of it")
		}
	})
}

// IN-18: what can be blamed at once is set aside after three deaths: a message that is alone in its process, or in a tool when that dies.
func TestBlamedPoisonIsSetAsideSoon(t *testing.T) {
	for name, others := range map[string][]string{"alone": nil, "in a tool": {"a", "b"}} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.addActions(&fakeAction{name: "LOOK", do: takes(10 * time.Second)})
			accepted := w.acceptFromMany(append([]string{"poison"}, others...)...)
			died := w.crashRepeatedlyIn(10, func(last string) bool { return last == "poison" }, others != nil)
			if died != 3 {
				w.Errorf("%d processes died; want 3", died)
			}
			w.wantAnswer(accepted[0], answer.Failed, llm.SetAside.Sentence(lang.Voice{}))
			for i, text := range others {
				w.wantAnswer(accepted[i+1], answer.Completed, "You said: "+text)
			}
		}))
	}
}

// IN-18: who was only there when the processes died is answered.
func TestOnlyPoisonIsSetAside(t *testing.T) {
	withHarness(t, func(w *harness) {
		accepted := w.acceptFromMany("poison", "a", "b", "c", "d", "e")
		if died := w.crashRepeatedly(10, func(last string) bool { return last == "poison" }); died != 5 {
			t.Errorf("%d processes died; want 5", died)
		}
		w.wantAnswer(accepted[0], answer.Failed, llm.SetAside.Sentence(lang.Voice{}))
		for i, text := range []string{"a", "b", "c", "d", "e"} {
			w.wantAnswer(accepted[i+1], answer.Completed, "You said: "+text)
		}
	})
}

// IN-18: a machine that dies again and again, at whatever it does, sets nothing aside that it can bring to an end. Suspects run
// one at a time, after a pause, beside what is new.
func TestBadLuckIsNoPoison(t *testing.T) {
	withHarness(t, func(w *harness) {
		accepted := w.acceptFromMany("a", "b", "c", "d")
		deaths := 2
		if died := w.crashRepeatedly(5, func(last string) bool {
			dies := last == "d" && deaths > 0
			if dies {
				deaths--
			}
			return dies
		}); died != 2 {
			t.Fatalf("%d processes died; want 2", died)
		}
		for i, text := range []string{"a", "b", "c", "d"} {
			w.wantAnswer(accepted[i], answer.Completed, "You said: "+text)
		}
		var last []modelCall
		for _, c := range w.model.requests() {
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
	withHarness(t, func(w *harness) {
		w.cfg.Access.Allowed.Accounts["bob"] = true
		accepted := w.acceptFromMany("a", "b")
		w.crashRepeatedly(2, func(string) bool { return true })
		w.model.mu.Lock()
		w.model.respond = nil
		w.model.mu.Unlock()
		begun := time.Now()
		n := w.start()
		m := w.message("fake/bob", "bob", "new")
		w.wantAnswer(n.send(m), answer.Completed, "You said: new")
		require.Value(n.ProcessMessage(w.Context(), chat.Command{Room: "fake/a", Author: "a", Name: chat.Stop}))(w)
		w.wantAnswer(accepted[0], answer.Stopped, "")
		w.wantAnswer(accepted[1], answer.Completed, "You said: b")
		for _, c := range w.model.requests() {
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
	withHarness(t, func(w *harness) {
		w.cfg.Grace = time.Second
		w.model.respond = func(llm.Request) []step { return []step{pause(time.Minute), write("Done.")} }
		acc := w.acceptOffline(room, "ada", "A")
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
		w.wantAnswer(acc, answer.Failed, llm.SetAside.Sentence(lang.Voice{}))
		w.wantModelCalls(6)
	})
}

// IN-18: an attempt is counted before the model is asked. Where it can't be stored, the model is not asked.
func TestAttemptsAreCountedFirst(t *testing.T) {
	withHarness(t, func(w *harness) {
		p := &gatewaytest.Faults{}
		p.Refuse(func(name string) error {
			if name == "attempt" {
				return errDown
			}
			return nil
		})
		w.wrap(p)
		n := w.start()
		acc := n.sendText("A")
		time.Sleep(10 * time.Second)
		w.wantModelCalls(0)
		p.Refuse(nil)
		w.wantAnswer(acc, answer.Completed, "You said: A")
		if r := w.run(acc); r.Attempts != 1 {
			t.Errorf("%d attempts; want 1", r.Attempts)
		}
	})
}

// IN-18: the owner is told once, in private, and a run is retried in its own message, also after others.
func TestSetAsideIsToldAndRetried(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Owners = map[chat.EntityID]bool{"olga": true}
		poison := w.acceptFromMany("olga", "poison")[1]
		var cured atomic.Bool
		w.crashRepeatedly(10, func(last string) bool { return last == "poison" && !cured.Load() })
		line := llm.SetAside.Sentence(lang.Voice{})
		w.wantAnswer(poison, answer.Failed, line)
		told := 0
		for _, text := range w.chat.visible() {
			if strings.Contains(text, "`gateway runs`") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("the owner was told %d times: %q; want 1", told, w.chat.visible())
		}
		n := w.start()
		w.wantAnswer(n.send(w.message("fake/poison", "poison", "next")), answer.Completed, "You said: next")
		cured.Store(true)
		w.chat.forgetSeen()
		w.Must(n.RetryRun(w.Context(), poison.Run))
		w.wantAnswer(poison, answer.Completed, "You said: poison")
		if got := w.chat.visible(); slices.Contains(got, line) || !slices.Contains(got, "You said: poison") {
			t.Errorf(`the chat shows %q; want them without %q and them to contain "You said: poison"`, got, line)
		}
		if err := n.RetryRun(w.Context(), poison.Run); !errors.Is(err, chat.ErrNotFound) {
			t.Errorf("retried once more: %v", err)
		}
	})
}

// IN-18: what no user had to answer is set aside in silence.
func TestSetAsideInSilence(t *testing.T) {
	withHarness(t, func(w *harness) {
		m := w.message(group, "ada", "poison")
		acc := require.Value(w.Store.Accept(w.Context(), m, chat.JoinRule{Kind: chat.RunDecide}))(w)
		w.crashRepeatedly(10, func(string) bool { return true })
		if o, said := w.waitAnswer(acc); o.Failure != llm.SetAside || !o.Withdrawn || said != "" || len(w.chat.visible()) > 0 {
			t.Errorf("it is %+v and said %q", o, said)
		}
		w.wantModelCalls(3)
	})
}
