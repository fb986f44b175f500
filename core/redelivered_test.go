package core_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage"
	"parley/gatewaytest"
)

// IN-17: what happened before /new changes nothing when it is delivered again after it, on any replica: it was accepted, and
// that outlives what it said.
func TestRedeliveredAfterNew(t *testing.T) {
	inWorld(t, func(w *world) {
		n := w.start()
		hi := w.message(room, "ada", "Hi")
		w.wants(n.submit(hi), answer.Completed, "You said: Hi")
		begin := w.message(room, "ada", "/new")
		asked := n.submit(begin)
		w.ended(asked)
		q := w.question(asked)
		press := chat.Choice(pressed(q, 0))
		forgotten := n.tell(press)
		w.ended(forgotten)
		w.accepted = nil // the room was cleared
		w.chat.forget()
		before := w.chat.visible()

		w.model.queue([]step{write(fox), pause(time.Minute), write(" The end.")})
		later := n.say("B")
		time.Sleep(time.Second)
		for _, at := range []*node{n, w.start()} {
			for _, m := range []chat.Message{hi, begin} {
				if again, err := at.ProcessMessage(w.Context(), m); err != nil || !again.Duplicate || again.Run != "" {
					w.Errorf("%q again: %+v, %v", m.Text, again, err)
				}
			}
			if again := at.tell(press); again.Run != "" && !again.Duplicate {
				w.Errorf("the press again: %+v", again)
			}
		}
		w.wants(later, answer.Completed, fox+" The end.")
		time.Sleep(time.Minute)
		if got := w.chat.visible(); !slices.Equal(got, append(before, fox+" The end.")) {
			w.Errorf("the chat shows %q", got)
		}
		if calls := len(w.model.asked()); calls != 2 {
			w.Errorf("the model was asked %d times", calls)
		}
	})
}

// IN-17: a /stop that is delivered again stops nothing that came after it.
func TestRedeliveredStop(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		inWorld(t, func(w *world) {
			n := w.start()
			w.model.queue([]step{write(fox), pause(time.Hour)}, []step{write(fox), pause(time.Minute), write(" The end.")})
			first := n.say("A")
			time.Sleep(time.Second)
			m := w.message(room, "ada", "/stop")
			n.submit(m)
			w.wants(first, answer.Stopped, fox+"\n\n_(Stopped.)_")
			later := n.say("B")
			time.Sleep(time.Second)
			at := n
			if elsewhere {
				at = w.start()
			}
			if again := at.submit(m); !again.Duplicate || again.Run != "" {
				w.Errorf("again: %+v", again)
			}
			w.wants(later, answer.Completed, fox+" The end.")
			if known, err := at.Known(w.Context(), m.ID); err != nil || !known {
				w.Errorf("known: %v, %v", known, err)
			}
		})
	}
}

// IN-17: a /stop that the process did not survive is obeyed when it is delivered again, for the turns that were there when it
// first arrived, and what those asked.
func TestStopSurvives(t *testing.T) {
	inWorld(t, func(w *world) {
		p := &gatewaytest.Faults{}
		cfg := w.cfg
		w.wrap(p)
		n := w.start()
		w.cfg = cfg
		w.model.queue([]step{write(fox), pause(time.Hour)}, []step{write(fox), pause(time.Hour)}, []step{write("The end.")})
		first := n.say("A")
		time.Sleep(time.Second)
		m := w.message(room, "ada", "/stop")
		p.BeforeNext(p.Kill) // the tracker is not told any more
		if _, err := n.ProcessMessage(w.Context(), m); err == nil {
			w.Error("it is safe")
		}
		n.Interrupt()
		n = w.start()
		time.Sleep(20 * time.Second) // until the dead one's turn is taken over
		if again := n.submit(m); again.Run != "" {
			w.Errorf("again: %+v", again)
		}
		if o, _ := w.ended(first); o.Status != answer.Stopped {
			w.Errorf("it ended as %+v", o)
		}
		w.chat.forget()
		w.wants(n.say("B"), answer.Completed, "The end.")
	})
}

// IN-17: a message that was deleted is not answered when it is delivered again.
func TestRedeliveredAfterDeletion(t *testing.T) {
	inWorld(t, func(w *world) {
		n := w.start()
		m := w.message(room, "ada", "A")
		w.ended(n.submit(m))
		n.tell(chat.Deleted{Room: room, ID: m.ID})
		w.accepted = nil
		w.chat.forget()
		if again, err := n.ProcessMessage(w.Context(), m); err != nil || !again.Duplicate || again.Run != "" {
			w.Errorf("again: %+v, %v", again, err)
		}
		time.Sleep(time.Minute)
		if calls := len(w.model.asked()); calls != 1 || w.said(m.ID) != "" {
			w.Errorf("the model was asked %d times; remembered is %q", calls, w.said(m.ID))
		}
	})
}

// A press that is delivered again is no mistake of anyone who pressed (IN-17).
func TestRedeliveredPress(t *testing.T) {
	inChoice(t, func(w *world, n *node, c *chooser, q chat.Question) {
		press := chat.Choice(pressed(q, 0))
		first := n.tell(press)
		for range 2 {
			if again := n.tell(press); again.Refused != "" || again.Run != first.Run || !again.Duplicate || !again.Chosen {
				w.Errorf("again: %+v", again)
			}
			w.ended(first)
		}
		if len(c.chosen) != 1 {
			w.Errorf("chosen was %+v", c.chosen)
		}
	})
}

// expiring is a store that tells what it is asked to remove.
type expiring struct {
	storage.Store

	mu   sync.Mutex
	ages []time.Duration
	more int
	fail bool
}

func (s *expiring) Expire(ctx context.Context, before chat.Expiry) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ages = append(s.ages, time.Since(before.Marks))
	if s.fail {
		return true, errDown
	}
	_, err := s.Store.Expire(ctx, before)
	s.more--
	return s.more > 0, err
}

// failing has every step from now on fail.
func (s *expiring) failing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = true
}

// steps are how old the marks were that went, step by step.
func (s *expiring) steps() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ages)
}

// Marks are kept for more than a day and not forever, and the store is asked for no more than it can do beside its work (IN-17).
func TestUpkeep(t *testing.T) {
	inWorld(t, func(w *world) {
		s := &expiring{Store: w.Store, more: 120}
		w.cfg.Store = s
		n := w.start()
		for i, want := range []int{50, 100, 120, 121} {
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if got := len(s.steps()); got != want {
				w.Errorf("after %d rounds there were %d steps; want %d", i+1, got, want)
			}
		}
		for _, age := range s.steps() {
			if age < 25*time.Hour || age > 72*time.Hour {
				w.Fatalf("marks of an age of %v go", age)
			}
		}
		s.failing()
		time.Sleep(30 * time.Second)
		w.wants(n.say("A"), answer.Completed, "You said: A")
		n.shutdown()
		done := len(s.steps())
		time.Sleep(time.Hour)
		if all := len(s.steps()); all != done || done != 122 {
			w.Errorf("%d steps, and %d after the end", done, all-done)
		}
	})
}
