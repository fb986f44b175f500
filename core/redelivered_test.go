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
	withHarness(t, func(w *harness) {
		n := w.start()
		hi := w.message(room, "ada", "Hi")
		w.wantAnswer(n.send(hi), answer.Completed, "You said: Hi")
		begin := w.message(room, "ada", "/new")
		asked := n.send(begin)
		w.waitAnswer(asked)
		q := w.question(asked)
		press := chat.Choice(pressed(q, 0))
		forgotten := n.deliver(press)
		w.waitAnswer(forgotten)
		w.accepted = nil // the room was cleared
		w.chat.forgetSeen()
		before := w.chat.visible()

		w.model.queue([]step{write(fox), pause(time.Minute), write(" The end.")})
		later := n.sendText("B")
		time.Sleep(time.Second)
		for _, at := range []*process{n, w.start()} {
			for _, m := range []chat.Message{hi, begin} {
				if again, err := at.ProcessMessage(w.Context(), m); err != nil || !again.Duplicate || again.Run != "" {
					w.Errorf("%q again: %+v, %v", m.Text, again, err)
				}
			}
			if again := at.deliver(press); again.Run != "" && !again.Duplicate {
				w.Errorf("the press again: %+v", again)
			}
		}
		w.wantAnswer(later, answer.Completed, fox+" The end.")
		time.Sleep(time.Minute)
		if got := w.chat.visible(); !slices.Equal(got, append(before, fox+" The end.")) {
			w.Errorf("the chat shows %q", got)
		}
		w.wantModelCalls(2)
	})
}

// IN-17: a /stop that is delivered again stops nothing that came after it.
func TestRedeliveredStop(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		withHarness(t, func(w *harness) {
			n := w.start()
			w.model.queue([]step{write(fox), pause(time.Hour)}, []step{write(fox), pause(time.Minute), write(" The end.")})
			first := n.sendText("A")
			time.Sleep(time.Second)
			m := w.message(room, "ada", "/stop")
			n.send(m)
			w.wantAnswer(first, answer.Stopped, fox+"\n\n_(Stopped.)_")
			later := n.sendText("B")
			time.Sleep(time.Second)
			at := n
			if elsewhere {
				at = w.start()
			}
			if again := at.send(m); !again.Duplicate || again.Run != "" {
				w.Errorf("again: %+v", again)
			}
			w.wantAnswer(later, answer.Completed, fox+" The end.")
			if known, err := at.Known(w.Context(), m.ID); err != nil || !known {
				w.Errorf("known: %v, %v", known, err)
			}
		})
	}
}

// IN-17: a /stop that the process did not survive is obeyed when it is delivered again, for the turns that were there when it
// first arrived, and what those asked.
func TestStopSurvives(t *testing.T) {
	withHarness(t, func(w *harness) {
		p := &gatewaytest.Faults{}
		cfg := w.cfg
		w.wrap(p)
		n := w.start()
		w.cfg = cfg
		w.model.queue([]step{write(fox), pause(time.Hour)}, []step{write(fox), pause(time.Hour)}, []step{write("The end.")})
		first := n.sendText("A")
		time.Sleep(time.Second)
		m := w.message(room, "ada", "/stop")
		p.BeforeNext(p.Kill) // the tracker is not told any more
		if _, err := n.ProcessMessage(w.Context(), m); err == nil {
			w.Error("ProcessMessage returned nil although the process was killed; want an error")
		}
		n.Interrupt()
		n = w.start()
		time.Sleep(20 * time.Second) // until the dead one's turn is taken over
		if again := n.send(m); again.Run != "" {
			w.Errorf("again: %+v", again)
		}
		if o, _ := w.waitAnswer(first); o.Status != answer.Stopped {
			w.Errorf("it ended as %+v", o)
		}
		w.chat.forgetSeen()
		w.wantAnswer(n.sendText("B"), answer.Completed, "The end.")
	})
}

// IN-17: a message that was deleted is not answered when it is delivered again.
func TestRedeliveredAfterDeletion(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		m := w.message(room, "ada", "A")
		w.waitAnswer(n.send(m))
		n.deliver(chat.Deleted{Room: room, ID: m.ID})
		w.accepted = nil
		w.chat.forgetSeen()
		if again, err := n.ProcessMessage(w.Context(), m); err != nil || !again.Duplicate || again.Run != "" {
			w.Errorf("again: %+v, %v", again, err)
		}
		time.Sleep(time.Minute)
		if calls := len(w.model.requests()); calls != 1 || w.storedText(m.ID) != "" {
			w.Errorf("the model was asked %d times; remembered is %q; want 1 and none", calls, w.storedText(m.ID))
		}
	})
}

// A press that is delivered again is no mistake of anyone who pressed (IN-17).
func TestRedeliveredPress(t *testing.T) {
	withQuestion(t, func(w *harness, n *process, c *chooser, q chat.Question) {
		press := chat.Choice(pressed(q, 0))
		first := n.deliver(press)
		for range 2 {
			if again := n.deliver(press); again.Refused != "" || again.Run != first.Run || !again.Duplicate || !again.Chosen {
				w.Errorf("again: %+v", again)
			}
			w.waitAnswer(first)
		}
		if len(c.chosen) != 1 {
			w.Errorf("chosen was %+v; want 1", c.chosen)
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
	withHarness(t, func(w *harness) {
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
		w.wantAnswer(n.sendText("A"), answer.Completed, "You said: A")
		n.shutdown()
		done := len(s.steps())
		time.Sleep(time.Hour)
		if all := len(s.steps()); all != done || done != 122 {
			w.Errorf("%d steps, and %d after the end", done, all-done)
		}
	})
}
