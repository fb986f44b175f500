package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/internal/subtest"
)

// sendNotice says something to a room, as the agent.
func (n *process) sendNotice(notice chat.Notice) chat.Accepted {
	n.h.Helper()
	acc := require.Value(n.Say(n.h.Context(), notice))(n.h)
	return acc
}

func TestSay(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.wantAnswer(n.sendText("A"), answer.Completed, "You said: A")
		acc := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "It rains."})
		w.wantAnswer(acc, answer.Completed, "It rains.")
		w.wantVisible("You said: A", "It rains.")
		if r := w.run(acc); r.Address.ReplyTo != "" || r.Address.Connector != "fake" {
			w.Errorf("it was said to %+v", r.Address)
		}
		m := require.Value(w.Store.Memory(w.Context(), w.run(acc).Said()))(w)
		if m.Author != agent || m.Kind != chat.Said || m.InReplyTo != "" {
			w.Errorf("remembered is %+v", m)
		}
		w.wantAnswer(n.sendText("B"), answer.Completed, "You said: B")
		if got := w.model.requests(); len(got) != 2 || !slices.Equal(got[1].texts(), []string{"A", "You said: A\n\nIt rains.", "B"}) {
			w.Errorf("the model was asked %d times, at last %q", len(got), got[len(got)-1].texts())
		}
	})
}

// What is replied to is found by its id, if it was answered.
func TestSayInReply(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		first, second := n.sendText("A"), n.sendText("B")
		w.waitAnswer(second)
		for _, c := range []struct{ to, want chat.MemoryID }{{first.Memory, first.Memory}, {second.Memory, second.Memory}, {"un/known", ""}} {
			acc := n.sendNotice(chat.Notice{To: chat.Address{Room: room, ReplyTo: c.to}, Text: "Indeed."})
			w.wantAnswer(acc, answer.Completed, "Indeed.")
			m := require.Value(w.Store.Memory(w.Context(), w.run(acc).Said()))(w)
			if m.InReplyTo != c.want || w.run(acc).Address.ReplyTo != c.want {
				w.Errorf("it replies to %q and %q, not %q", m.InReplyTo, w.run(acc).Address.ReplyTo, c.want)
			}
		}
	})
}

// What the agent says by itself waits for the answer under way, under every policy, and gives way to none.
func TestSayInterruptsNothing(t *testing.T) {
	for _, policy := range []schedule.Policy{schedule.Supersede, schedule.Queue, schedule.Collect} {
		t.Run(string(policy), subtest.Of(withHarness, func(w *harness) {
			w.cfg.Turns.Direct = policy
			n := w.start()
			w.model.queue([]step{write(fox), pause(time.Minute), write(" The end.")})
			a := n.sendText("A")
			time.Sleep(time.Second)
			told := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "It rains."})
			time.Sleep(10 * time.Second)
			if r := w.run(told); r.Epoch != 0 {
				w.Errorf("it was begun under an answer: %+v", r)
			}
			w.wantAnswer(a, answer.Completed, fox+" The end.")
			w.wantAnswer(told, answer.Completed, "It rains.")
			w.wantVisible(fox+" The end.", "It rains.")
		}))
	}
	t.Run("a later question interrupts the answer, and not the notice", subtest.Of(withHarness, func(w *harness) {
		n := w.start()
		w.model.queue([]step{write(fox), pause(time.Minute)})
		a := n.sendText("A")
		time.Sleep(time.Second)
		told := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "It rains."})
		b := n.sendText("B")
		w.wantAnswer(b, answer.Completed, "You said: B")
		w.wantAnswer(told, answer.Completed, "It rains.")
		w.wantAnswer(a, answer.Superseded, fox+"\n\n_(Interrupted by a newer message.)_")
		if got := w.chat.visible(); len(got) != 3 || got[1] != "It rains." || got[2] != "You said: B" {
			w.Errorf("the chat shows %q", got)
		}
	}))
	t.Run("a stop ends the answer, and not the notice", subtest.Of(withHarness, func(w *harness) {
		n := w.start()
		w.model.queue([]step{write(fox), pause(time.Minute)})
		a := n.sendText("A")
		time.Sleep(time.Second)
		told := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "It rains."})
		n.stopAnswer(room)
		w.wantAnswer(a, answer.Stopped, fox+"\n\n_(Stopped.)_")
		w.wantAnswer(told, answer.Completed, "It rains.")
	}))
}

// One key is one notice, anyone who repeats it, on whichever replica.
func TestSayOnce(t *testing.T) {
	withHarness(t, func(w *harness) {
		n, other := w.start(), w.start()
		w.waitAnswer(n.sendText("A"))
		first := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "It rains.", Key: "weather"})
		again := other.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "It rains.", Key: "weather"})
		if !again.Duplicate || again.Run != first.Run {
			w.Errorf("again: %+v", again)
		}
		w.wantAnswer(first, answer.Completed, "It rains.")
		for range 2 {
			w.wantAnswer(n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "Without a key."}), answer.Completed, "Without a key.")
		}
		if got := w.chat.visible(); len(got) != 4 {
			w.Errorf("the chat shows %q; want 4", got)
		}
	})
}

// A process that dies at any moment has it said once all the same (I14).
func TestSaySurvives(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.chat.slow = time.Second
		p := &gatewaytest.Faults{}
		n := w.startFaulty(p)
		w.waitAnswer(n.sendText("A"))
		told := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "It rains."})
		time.Sleep(500 * time.Millisecond) // the message is about to be created
		p.Kill()
		n.shutdown()
		w.start()
		w.wantAnswer(told, answer.Completed, "It rains.")
		w.wantVisible("You said: A", "It rains.")
	})
}

func TestSayRefuses(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.Must(w.Store.SaveRoom(w.Context(), chat.Room{ID: group, Kind: chat.Group, Connector: "fake"}))
		for name, c := range map[string]struct {
			notice chat.Notice
			want   error
		}{
			"without an address": {chat.Notice{To: chat.Address{Room: "elsewhere"}, Text: "Hello?"}, chat.ErrNotFound},
			"never reached":      {chat.Notice{To: chat.Address{Room: group}, Text: "Hello?"}, chat.ErrUnreached},
			"too long a way":     {chat.Notice{To: chat.Address{Room: group, ConnectorData: make([]byte, chat.MaxOwn+1)}, Text: "Hello?"}, chat.ErrTooLarge},
			"nothing":            {chat.Notice{To: chat.Address{Room: group}, Text: " \n"}, nil},
		} {
			_, err := n.Say(w.Context(), c.notice)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				w.Errorf("%s: %v", name, err)
			}
		}
		n.shutdown()
		if _, err := n.Say(context.Background(), chat.Notice{To: chat.Address{Room: room}, Text: "Too late."}); !errors.Is(err, chat.ErrShutdown) {
			w.Errorf("after the end: %v", err)
		}
	})
}

// Who clears the room before it is said has it not said.
func TestSayCleared(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Direct = schedule.Queue
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("Late.")})
		n.sendText("A")
		time.Sleep(time.Second)
		told := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "It rains."})
		require.Value(n.ProcessMessage(w.Context(), chat.Cleared{Room: room}))(w)
		if o, said := w.waitAnswer(told); o.Status != answer.Stopped || said != "" || strings.Contains(strings.Join(w.chat.visible(), ""), "rains") {
			w.Errorf("it ended as %+v: %q", o, said)
		}
		w.accepted = nil // nothing of that is remembered
		w.chat.forgetSeen()
	})
}
