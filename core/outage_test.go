package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/internal/subtest"
)

var errDown = errors.New("out of reach")

// Store down: nothing is acknowledged that is not stored.
func TestAcceptFails(t *testing.T) {
	withHarness(t, func(w *harness) {
		p := &gatewaytest.Faults{}
		p.Refuse(func(string) error { return errDown })
		w.wrap(p)
		n := w.start()
		if _, err := n.ProcessMessage(w.Context(), w.message(room, "ada", "A")); !errors.Is(err, errDown) {
			w.Errorf("accepted with %v", err)
		}
		w.wantModelCalls(0)
	})
}

// What must be written while the store is down for a minute is written when it is back; nothing is said twice, and
// no user is left without the last word.
func TestStoreIsDownForAMinute(t *testing.T) {
	for _, effect := range []string{`note shown [""]`, `note shown ["m1"]`, "note verdict", "finish", "note acted"} {
		t.Run(effect, subtest.Of(withHarness, func(w *harness) {
			var since time.Time
			p := &gatewaytest.Faults{}
			p.Refuse(func(name string) error {
				if strings.HasPrefix(name, effect) && since.IsZero() {
					since = time.Now()
				}
				ofStore := strings.HasPrefix(name, "note") || slices.Contains([]string{"accept", "start", "finish"}, name)
				if ofStore && !since.IsZero() && time.Since(since) < time.Minute {
					return errDown
				}
				return nil
			})
			w.wrap(p)
			a := &fakeAction{name: "WRITE", effect: action.Writes}
			w.addActions(a)
			w.model.queue([]step{write(fox), pause(time.Second), call(0, "a", "WRITE", "{}")}, []step{write("Done.")})
			n := w.start()
			acc := n.sendText("A")
			want := fox + "\n\nDone."
			w.wantAnswer(acc, answer.Completed, want)
			if since.IsZero() {
				w.Fatal("the effect never came")
			}
			w.wantVisible(want)
			if a.times() != 1 || len(w.model.requests()) != 2 {
				w.Errorf("%d actions, %d calls of the model; want 1 and 2", a.times(), len(w.model.requests()))
			}
		}))
	}
}

// Tracker down: supersede becomes queue, and no message is lost.
func TestTrackerIsDown(t *testing.T) {
	withHarness(t, func(w *harness) {
		p := &gatewaytest.Faults{}
		p.Refuse(func(name string) error {
			if name == "claim" || name == "settle" || name == "stop" {
				return errDown
			}
			return nil
		})
		w.wrap(p)
		n := w.start()
		w.model.queue([]step{pause(30 * time.Second), write("A's answer")})
		a, b, c := n.sendText("A"), n.sendText("B"), n.sendText("C")
		w.wantAnswer(a, answer.Completed, "A's answer")
		w.wantAnswer(b, answer.Completed, "You said: B")
		w.wantAnswer(c, answer.Completed, "You said: C")
		w.wantVisible("A's answer", "You said: B", "You said: C")
		if _, err := n.ProcessMessage(w.Context(), chat.Command{Room: room, Author: "ada", Name: chat.Stop}); err != nil {
			w.Errorf("there is nothing to stop, and yet: %v", err)
		}
	})
}

// A tracker that forgets is told again by the runner, before the older of two waiting runs is begun.
func TestTrackerForgets(t *testing.T) {
	withHarness(t, func(w *harness) {
		p := &gatewaytest.Faults{}
		p.Refuse(func(name string) error {
			if name == "claim" {
				return errDown
			}
			return nil
		})
		w.wrap(p)
		n := w.start()
		w.model.queue([]step{write("x"), pause(10 * time.Second), write(fox)})
		a := n.sendText("A")
		time.Sleep(time.Second)
		b, c := n.sendText("B"), n.sendText("C")
		p.Refuse(nil)
		w.wantAnswer(c, answer.Completed, "You said: C")
		w.wantAnswer(a, answer.Completed, "x"+fox)
		w.wantAnswer(b, answer.Superseded, "")
	})
}

// A post needs the room: who lost it shows nothing, although no user told it.
func TestSettleRefusesTheFirstPost(t *testing.T) {
	withHarness(t, func(w *harness) {
		open := w.cfg.Open
		w.cfg.Open = func(ctx context.Context, r chat.Run) (core.Surface, error) {
			s, err := open(ctx, r)
			if r.Response == 1 {
				s.(*poster).atFirst = func() { time.Sleep(5 * time.Second) } // the later turn comes here
			}
			return s, err
		}
		w.model.queue([]step{write(fox), pause(time.Hour)})
		n := w.start()
		a := n.sendText("A")
		time.Sleep(time.Second)
		b := n.sendText("B")
		w.wantAnswer(b, answer.Completed, "You said: B")
		w.wantAnswer(a, answer.Superseded, "")
		if r := w.run(a); !r.Outcome.Withdrawn || len(r.Shown) > 0 {
			w.Errorf("A's run is %+v", r)
		}
		w.wantVisible("You said: B")
	})
}

// Who has lost a run abandons it without another word.
func TestLostRun(t *testing.T) {
	for _, effect := range []string{"note text", "note acting", "note shown", "note verdict", "finish"} {
		t.Run(effect, subtest.Of(withHarness, func(w *harness) {
			if effect == "note text" || effect == "note acting" {
				w.watchOnly()
			}
			var lost atomic.Bool
			p := &gatewaytest.Faults{}
			p.Refuse(func(name string) error {
				if strings.HasPrefix(name, effect) {
					lost.Store(true)
				}
				if lost.Load() && (strings.HasPrefix(name, "note") || name == "finish") {
					return answer.ErrLost
				}
				if lost.Load() && name == "start" {
					return chat.ErrBusy
				}
				return nil
			})
			w.wrap(p)
			w.addActions(&fakeAction{name: "WRITE", effect: action.Writes})
			w.model.queue([]step{write(fox), pause(10 * time.Second), call(0, "a", "WRITE", "{}"), pause(time.Minute)}, []step{write("Done.")})
			n := w.start()
			m := w.message(room, "ada", "A")
			acc := require.Value(n.ProcessMessage(w.Context(), m))(w)
			cs, v, err := n.readAnswer(acc.Run)
			if effect != "finish" && (!errors.Is(err, answer.ErrLost) || v.Outcome.Done()) {
				w.Errorf("a reader was told %v, %+v", err, v.Outcome)
			}
			for _, c := range cs {
				if c.Kind == answer.Text && c.Text != fox && c.Text != "Done." {
					w.Errorf("it said %q", c.Text)
				}
			}
			for _, text := range w.chat.visible() {
				if strings.Contains(text, "wrong") {
					w.Errorf(`the chat shows %q; want it without "wrong"`, text)
				}
			}
			synctest.Wait()
			if calls := w.model.requests(); (effect == "note text" || effect == "note shown") && calls[0].To.Sub(calls[0].From) > 20*time.Second {
				w.Errorf("the model went on for %v", calls[0].To.Sub(calls[0].From))
			}
			p.Refuse(nil)
			w.model.queue([]step{write("Again.")})
			w.waitAnswer(acc)
		}))
	}
}

// hungStore answers no beat.
type hungStore struct{ storage.Store }

func (hungStore) RenewLease(ctx context.Context, _ string, _ time.Time) error {
	<-ctx.Done()
	return ctx.Err()
}

// I12: a store that hangs does not keep a process from ending.
func TestStoreHangs(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Store = hungStore{w.cfg.Store}
		n := w.start()
		begun := time.Now()
		n.shutdown()
		if took := time.Since(begun); took > 6*time.Second {
			w.Errorf("it ended after %v", took)
		}
	})
}
