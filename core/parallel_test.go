package core_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// withConcurrentAnswers runs a test in which two answers are made for a person at a time, and each takes a minute.
func withConcurrentAnswers(t *testing.T, play func(w *harness, n *process), set ...func(w *harness)) {
	t.Helper()
	withHarness(t, func(w *harness) {
		w.cfg.Access.Direct, w.cfg.Parallel = access.DirectOpen, 2
		w.model.respond = func(r llm.Request) []step {
			return []step{pause(time.Minute), write("Done: " + r.Messages[len(r.Messages)-1].Text)}
		}
		w.model.where = func(r llm.Request) chat.RoomID { return chat.RoomID(r.Messages[len(r.Messages)-1].Text) }
		for _, s := range set {
			s(w)
		}
		play(w, w.start())
	})
}

// askIn writes a question in a room of its own.
func (n *process) askIn(in string, who chat.EntityID) chat.Accepted {
	n.h.Helper()
	acc := n.send(n.h.message(chat.RoomID(in), who, in))
	synctest.Wait()
	return acc
}

// answered are those of rooms whose answers were posted.
func (w *harness) answered(rooms ...chat.Accepted) (ended []bool) {
	w.Helper()
	for _, acc := range rooms {
		ended = append(ended, w.run(acc).Outcome.Done())
	}
	return ended
}

// SE-19: two answers are made for a person at a time. Further ones wait in order, unstarted; they are not refused, and others do
// not wait for them, nor do commands.
func TestAnswersOfOnePersonWait(t *testing.T) {
	withConcurrentAnswers(t, func(w *harness, n *process) {
		var all []chat.Accepted
		for i := range 5 {
			all = append(all, n.askIn(fmt.Sprint("fake/", i), "ada"))
		}
		bob := n.askIn("fake/bob", "bob")
		if asked := len(w.model.requests()); asked != 3 {
			t.Errorf("%d answers are made at once; want two for Ada and one for Bob", asked)
		}
		if r := w.run(all[2]); r.Epoch != 0 || r.Held {
			t.Errorf("an answer that waits is %+v", r)
		}
		status := n.send(w.message("fake/4", "ada", "/help"))
		time.Sleep(time.Second)
		if !w.answered(status)[0] {
			t.Error("a command waits")
		}
		for minute, want := range [][]bool{{true, true, false, false, false}, {true, true, true, true, false}, {true, true, true, true, true}} {
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := w.answered(all...); !slices.Equal(got, want) {
				t.Errorf("after %d minutes the answers have ended: %v; want %v", minute+1, got, want)
			}
		}
		w.wantAnswer(bob, answer.Completed, "Done: fake/bob")
	})
}

// A person pays from wherever they write: it is the payer whose answers wait.
func TestAnswersOfOneAddressWait(t *testing.T) {
	withConcurrentAnswers(t, func(w *harness, n *process) {
		for i := range 3 {
			m := w.message(chat.RoomID(fmt.Sprint("fake/", i)), chat.EntityID(fmt.Sprint("guest", i)), fmt.Sprint("fake/", i))
			m.Address.BilledTo = "somewhere"
			n.send(m)
		}
		synctest.Wait()
		if asked := len(w.model.requests()); asked != 2 {
			t.Errorf("%d answers are made at once for an address; want 2", asked)
		}
		time.Sleep(3 * time.Minute)
	})
}

// An answer that is stopped while it waits, or while it is made, makes room for the next.
func TestStoppedAnswersMakeRoom(t *testing.T) {
	withConcurrentAnswers(t, func(w *harness, n *process) {
		var all []chat.Accepted
		for i := range 5 {
			all = append(all, n.askIn(fmt.Sprint("fake/", i), "ada"))
		}
		n.stopAnswer("fake/2") // waits
		n.stopAnswer("fake/0") // is made
		time.Sleep(time.Second)
		synctest.Wait()
		if o := w.run(all[2]).Outcome; o.Status != answer.Stopped {
			t.Errorf("what waited and was stopped is %+v", o)
		}
		if texts := w.askedRooms(); !slices.Equal(texts, []string{"fake/0", "fake/1", "fake/3"}) {
			t.Errorf("answers were begun in %q", texts)
		}
		w.wantAnswer(all[4], answer.Completed, "Done: fake/4")
	})
}

// askedRooms are those for which the model was asked, in order.
func (w *harness) askedRooms() (all []string) {
	for _, c := range w.model.requests() {
		all = append(all, c.Messages[len(c.Messages)-1].Text)
	}
	slices.Sort(all)
	return all
}

// A later message in the room of an answer that waits takes its place: both are answered together, or the earlier one ends.
func TestLaterMessageWhileAnAnswerWaits(t *testing.T) {
	withConcurrentAnswers(t, func(w *harness, n *process) {
		n.askIn("fake/0", "ada")
		n.askIn("fake/1", "ada")
		first := n.askIn("fake/2", "ada")
		second := n.askIn("fake/2", "ada")
		time.Sleep(10 * time.Second)
		if o := w.run(first).Outcome; first.Run != second.Run && o.Status != answer.Superseded {
			t.Errorf("the earlier is %+v", o)
		}
		w.wantAnswer(second, answer.Completed, "Done: fake/2")
	})
}

// What was left waiting is answered after a restart.
func TestWaitingAnswersOutliveTheProcess(t *testing.T) {
	withConcurrentAnswers(t, func(w *harness, n *process) {
		var all []chat.Accepted
		for i := range 4 {
			all = append(all, n.askIn(fmt.Sprint("fake/", i), "ada"))
		}
		n.shutdown()
		w.start()
		for i, acc := range all {
			w.wantAnswer(acc, answer.Completed, fmt.Sprint("Done: fake/", i))
		}
	})
}

// While an answer waits for a choice nothing is made, so others are.
func TestChoicesMakeRoom(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Direct, w.cfg.Parallel = access.DirectOpen, 1
		w.addActions(&fakeAction{name: "PLAY", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
			q, err := c.Choose(ctx, "Which one?", chat.Question{Options: []string{"Dunes", "Rain"}})
			if err != nil {
				return action.Result{}, err
			}
			return action.Result{Text: q.Options[q.Choice]}, nil
		}})
		n := w.start()
		w.model.respond = func(r llm.Request) []step {
			if last := r.Messages[len(r.Messages)-1]; strings.HasPrefix(last.Text, "play") {
				return []step{call(0, "a", "PLAY", "{}")}
			}
			return []step{write("Done.")}
		}
		w.model.where = func(r llm.Request) chat.RoomID {
			if strings.HasPrefix(r.Messages[0].Text, "play") {
				return "fake/0"
			}
			return "fake/1"
		}
		first := n.send(w.message("fake/0", "ada", "play"))
		synctest.Wait()
		second := n.send(w.message("fake/1", "ada", "Hello"))
		w.wantAnswer(second, answer.Completed, "Done.")
		acc := n.deliver(chat.Choice(pressed(w.question(first), 1)))
		w.waitAnswer(acc)
		if o, _ := w.waitAnswer(first); o.Status != answer.Completed {
			t.Errorf("the answer that waited is %+v", o)
		}
	})
}

// betweenBeats is no multiple of the time between heartbeats, which wake all rooms.
const betweenBeats = 62 * time.Second

// DI-15: three answers are made at a time in total. The others start in the order of their questions. An answer that waits for
// another one of the same person takes no place, and every answer is made in the end.
func TestAnswersOfAllPeopleWait(t *testing.T) {
	withConcurrentAnswers(t, func(w *harness, n *process) {
		ada := []chat.Accepted{n.askIn("fake/0", "ada"), n.askIn("fake/1", "ada"), n.askIn("fake/2", "ada"), n.askIn("fake/3", "ada")}
		others := []chat.Accepted{n.askIn("fake/bob", "bob"), n.askIn("fake/carl", "carl"), n.askIn("fake/dora", "dora")}
		if asked := len(w.model.requests()); asked != 3 {
			t.Errorf("%d answers are made at once; want two for Ada and one for Bob", asked)
		}
		if r := w.run(others[1]); r.Epoch != 0 || r.Held {
			t.Errorf("an answer that waits is %+v", r)
		}
		command := n.send(w.message("fake/dora", "dora", "/help"))
		time.Sleep(time.Second)
		if !w.answered(command)[0] {
			t.Error("a command waits")
		}
		all := append(ada, others...)
		for i, want := range [][]bool{
			{true, true, false, false, true, false, false},
			{true, true, true, true, true, true, false},
			{true, true, true, true, true, true, true},
		} {
			time.Sleep(betweenBeats)
			synctest.Wait()
			if got := w.answered(all...); !slices.Equal(got, want) {
				t.Errorf("after %d answers of each place have ended: %v; want %v", i+1, got, want)
			}
			if asked := len(w.model.requests()); asked != min(3*(i+2), len(all)) {
				t.Errorf("then %d answers are begun; those that wait are woken at once, not by a heartbeat", asked)
			}
		}
	}, func(w *harness) {
		w.cfg.Total = 3
		w.model.respond = func(llm.Request) []step { return []step{pause(betweenBeats), write(fox)} }
	})
}

// An answer that offers something while it is written keeps its place: no further answer is written meanwhile.
func TestOfferKeepsThePlace(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Direct, w.cfg.Parallel = access.DirectOpen, 1
		w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "choosers", ChoiceHandlers: []action.ChoiceHandler{&chooser{}}})
		w.addActions(&fakeAction{name: "PLAY", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
			return action.Result{Text: "it plays"}, c.Ask(ctx, chat.Question{Options: []string{"Skip", "Louder"}, Handler: "test"})
		}})
		w.model.queue([]step{call(0, "a", "PLAY", "{}")}, []step{pause(time.Minute), write("Enjoy.")}, []step{write("Me, too.")})
		n := w.start()
		first := n.sendText("play")
		time.Sleep(10 * time.Second)
		second := n.askIn("fake/1", "ada")
		time.Sleep(10 * time.Second)
		w.wantModelCalls(2)
		w.waitAnswer(first)
		w.wantAnswer(second, answer.Completed, "Me, too.")
	})
}

// An answer that waits longer than a turn can take is logged once, with the reason, and counted, until it ends.
func TestOverdueAnswersAreLogged(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Direct, w.cfg.Parallel = access.DirectOpen, 1
		w.cfg.Access.Allowed.Accounts["bob"] = true
		w.addActions(&fakeAction{name: "ORDER", effect: action.Writes, limit: 2 * time.Hour, do: func(ctx context.Context, c *action.Call) (action.Result, error) {
			time.Sleep(time.Hour)
			return action.Result{Text: "ordered"}, nil
		}})
		w.model.queue([]step{call(0, "o", "ORDER", "{}")}, []step{write("Done.")}, []step{write("Done.")}, []step{write("Done.")})
		n := w.start()
		first := n.send(w.groupMention("ada", "order"))
		synctest.Wait()
		behind, elsewhere := n.send(w.groupMention("bob", "And me?")), n.askIn("fake/1", "ada")
		time.Sleep(50 * time.Minute)
		if n.Overdue() != 2 || n.Counts().Overdue != 2 {
			t.Errorf("%d answers are overdue, counted %+v; want 2", n.Overdue(), n.Counts())
		}
		log := w.Logged.String()
		for reason, acc := range map[string]chat.Accepted{"1 of 1 answers of its person are in progress, the oldest for 17m": elsewhere, "an earlier answer in its room is in progress": behind} {
			if strings.Count(log, `run=`+string(acc.Run)+" ") != 1 || !strings.Contains(log, reason) {
				t.Errorf("the log does not have once %q:\n%s", reason, log)
			}
		}
		time.Sleep(20 * time.Minute)
		for _, acc := range []chat.Accepted{first, behind, elsewhere} {
			w.waitAnswer(acc)
		}
		time.Sleep(2 * time.Minute)
		if n.Overdue() != 0 {
			t.Errorf("at last %d answers are overdue; want none", n.Overdue())
		}
	})
}
