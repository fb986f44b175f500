package storagetest

import (
	"fmt"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
	"parley/internal/require"
)

func joinChecks() []storeCheck {
	return []storeCheck{
		{"a message joins a run that is not ready (IN-06)", joinWindow},
		{"a message does not join a ready run", joinReady},
		{"a shorter window does not reopen a run", joinShorter},
		{"a collecting message joins a ready run (IN-07)", joinCollect},
		{"a message does not join a started run", joinStarted},
		{"a message does not join an ended run", joinFinished},
		{"a repeated joined message is a duplicate", joinDuplicate},
		{"a message joins only runs of its room", joinRooms},
		{"only the author's messages join a run (IN-13)", joinAuthor},
		{"a run waits no longer than the rule's maximum (IN-13)", joinMost},
		{"a message with JoinOnly opens no run", joinOnly},
		{"a joined message to answer makes the run a reply", joinDuty},
		{"a notice joins no run, is not joined and hides no run (IN-06)", joinAlone},
		{"messages of a waiting run join the run in progress", joinRunning},
		{"over the limit one run apologizes and all messages are stored (IN-07)", joinLimit},
	}
}

const window = 2 * time.Second

func joinDuty(t *testing.T, s store) {
	undecided, plain := chat.JoinRule{Window: window, Kind: chat.RunDecide}, chat.JoinRule{Window: window}
	for i, c := range []struct {
		first, second chat.JoinRule
		want          chat.RunKind
	}{{undecided, undecided, chat.RunDecide}, {undecided, plain, chat.RunReply}, {plain, undecided, chat.RunReply}, {plain, plain, chat.RunReply}} {
		room := chat.RoomID(fmt.Sprintf("room %d", i))
		first := s.accept(message(room, 1), c.first)
		s.same("the duty at first", s.runOf(first).Kind, c.first.Kind)
		s.same("the run of the second", s.accept(message(room, 2), c.second).Run, first.Run)
		s.same("the duty", s.runOf(first).Kind, c.want)
	}
}

func joinAlone(t *testing.T, s store) {
	rule, tell := chat.JoinRule{Window: window, Collect: true}, chat.JoinRule{Window: window, Collect: true, Kind: chat.RunNotify}
	asked := s.accept(message("room", 1), rule)
	told := s.accept(message("room", 2), tell)
	again := s.accept(message("room", 3), tell)
	if told.Run == asked.Run || again.Run == told.Run {
		t.Errorf("notices are in the runs %q and %q; want runs of their own beside %q", told.Run, again.Run, asked.Run)
	}
	s.same("the run of a second question", s.accept(message("room", 4), rule).Run, asked.Run)
	s.same("the inputs of what is told", s.runOf(told).Inputs, []chat.MemoryID{"room/2"})
	s.same("the duty", s.runOf(told).Kind, chat.RunNotify)
	s.same("the only run of a room", s.accept(message("elsewhere", 1), tell).Response, chat.ResponseID(1))
	s.same("the next", s.accept(message("elsewhere", 2), rule).Response, chat.ResponseID(2))
}

func joinLimit(t *testing.T, s store) {
	rule := chat.JoinRule{Limit: 2}
	s.start(s.accept(message("room", 0), rule).Run, "owner") // what was started does not wait
	duties := func(want ...chat.RunKind) {
		t.Helper()
		var got []chat.RunKind
		for _, r := range s.openRuns("room")[1:] {
			got = append(got, r.Kind)
		}
		s.same("the waiting messages", got, want)
	}
	s.accept(message("room", 1), rule)
	s.accept(message("room", 2), rule)
	undecided := s.accept(message("room", 3), chat.JoinRule{Limit: 2, Kind: chat.RunDecide})
	s.same("the run of an undecided one too many", undecided.Run, chat.RunID(""))
	duties(chat.RunReply, chat.RunReply)
	excuse := s.accept(message("room", 4), chat.JoinRule{Limit: 2, Window: window})
	duties(chat.RunReply, chat.RunReply, chat.RunOverflow)
	heard := message("room", 5)
	s.same("one more", s.accept(heard, rule), chat.Accepted{Memory: heard.ID, Response: excuse.Response + 1})
	s.same("one more, again", s.accept(heard, rule), chat.Accepted{Memory: heard.ID, Response: excuse.Response + 1, Duplicate: true})
	s.accept(message("other", 6), rule)
	duties(chat.RunReply, chat.RunReply, chat.RunOverflow)
	if acc := s.accept(message("room", 7), chat.JoinRule{Collect: true}); acc.Run == "" || acc.Run == excuse.Run {
		t.Errorf("a collecting message joined the apology: %+v; want another run", acc)
	}
	s.same("the memories", len(s.texts("room", 0, 10)), 7)
}

func joinWindow(t *testing.T, s store) {
	opened := time.Now()
	first := s.accept(message("room", 1), chat.JoinRule{Window: window})
	time.Sleep(window - time.Nanosecond)
	next := message("room", 2)
	next.Address.ConnectorData = []byte("newer")
	joined := s.accept(next, chat.JoinRule{Window: window})
	s.same("accepted", joined, chat.Accepted{Memory: next.ID, Run: first.Run, Response: first.Response})
	want := chat.Run{ID: first.Run, Response: 1, Room: "room", RoomKind: chat.Group, Address: next.Address, Author: "ada",
		Inputs: []chat.MemoryID{"room/1", "room/2"}, Opened: opened, Ready: time.Now().Add(window)}
	s.same("the run", s.runOf(first), want)
	s.same("the open runs", s.openRuns("room"), []chat.Run{want})

	time.Sleep(window)
	if acc := s.accept(message("room", 3), alone); acc.Response != 2 {
		t.Errorf("the turn after a joined one is %d; want 2", acc.Response)
	}
	s.same("the prompt of the first run", s.texts("room", 1, 10), []string{"message 1", "message 2"})
}

func joinReady(t *testing.T, s store) {
	first := s.accept(message("room", 1), chat.JoinRule{Window: window})
	time.Sleep(window)
	second := s.accept(message("room", 2), chat.JoinRule{Window: window})
	if second.Run == first.Run || second.Response != 2 {
		t.Errorf("a message joined a ready run: %+v; want a run of its own", second)
	}
	third := s.accept(message("room", 3), alone)
	s.same("the run of the third", third.Run, second.Run)
}

func joinShorter(t *testing.T, s store) {
	first := s.accept(message("room", 1), chat.JoinRule{Window: window})
	second := s.accept(message("room", 2), alone)
	s.same("the run of the second", second.Run, first.Run)
	s.same("the run's ready time", s.runOf(first).Ready, time.Now())
	third := s.accept(message("room", 3), chat.JoinRule{Window: window})
	s.same("the turn of the third", third.Response, chat.ResponseID(2))
}

func joinCollect(t *testing.T, s store) {
	busy := s.opened("room", 1)
	s.start(busy.ID, "owner")
	waits := s.accept(message("room", 2), alone)
	time.Sleep(time.Hour)
	for n := 3; n < 6; n++ {
		acc := s.accept(message("room", n), chat.JoinRule{Collect: true, Window: window})
		s.same("the run", acc.Run, waits.Run)
	}
	r := s.runOf(waits)
	s.same("its inputs", r.Inputs, []chat.MemoryID{"room/2", "room/3", "room/4", "room/5"})
	s.same("the ready time", r.Ready, time.Now().Add(window))
	s.same("the number of runs", len(s.openRuns("room")), 2)
}

func joinStarted(t *testing.T, s store) {
	first := s.accept(message("room", 1), chat.JoinRule{Window: window})
	r := s.start(first.Run, "owner")
	acc := s.accept(message("room", 2), chat.JoinRule{Window: window, Collect: true})
	s.same("accepted", acc.Response, chat.ResponseID(2))
	s.same("the inputs of the started run", s.runOf(first).Inputs, r.Inputs)
}

func joinFinished(t *testing.T, s store) {
	first := s.accept(message("room", 1), chat.JoinRule{Window: window})
	s.finish(s.runOf(first), chat.Memory{})
	acc := s.accept(message("room", 2), chat.JoinRule{Window: window, Collect: true})
	s.same("accepted", acc.Response, chat.ResponseID(2))
}

func joinDuplicate(t *testing.T, s store) {
	s.accept(message("room", 1), chat.JoinRule{Window: window})
	want := s.accept(message("room", 2), chat.JoinRule{Window: window})
	want.Duplicate = true
	time.Sleep(2 * window)
	s.accept(message("room", 3), alone)
	s.same("accepted again", s.accept(message("room", 2), alone), want)
}

func joinRooms(t *testing.T, s store) {
	a := s.accept(message("a", 1), chat.JoinRule{Window: window})
	b := s.accept(message("b", 1), chat.JoinRule{Window: window, Collect: true})
	if a.Run == b.Run {
		t.Errorf("two rooms share the run %s; want one each", a.Run)
	}
}

func joinAuthor(t *testing.T, s store) {
	rule := chat.JoinRule{Window: window}
	first := s.accept(message("room", 1), rule)
	other := message("room", 2)
	other.Author = "bob"
	s.same("the turn of another's message", s.accept(other, alone).Response, chat.ResponseID(2))
	s.same("the turn of the author's next", s.accept(message("room", 3), rule).Response, first.Response)
	s.same("the inputs", s.runOf(first).Inputs, []chat.MemoryID{"room/1", "room/3"})
	another := message("room", 4)
	another.Author = "bob"
	s.same("the turn of another's, collected", s.accept(another, chat.JoinRule{Collect: true}).Response, chat.ResponseID(2))
}

func joinMost(t *testing.T, s store) {
	rule := chat.JoinRule{Window: window, Most: 5 * time.Second}
	opened := time.Now()
	first := s.accept(message("room", 1), rule)
	for n, after := range []time.Duration{3500 * time.Millisecond, 5 * time.Second, 5 * time.Second} {
		time.Sleep(1500 * time.Millisecond)
		s.same("the run", s.accept(message("room", n+2), rule).Run, first.Run)
		s.same("the ready time", s.runOf(first).Ready, opened.Add(after))
	}
	time.Sleep(500 * time.Millisecond)
	s.same("the turn of what comes then", s.accept(message("room", 9), rule).Response, chat.ResponseID(2))
}

func joinOnly(t *testing.T, s store) {
	only := chat.JoinRule{JoinOnly: true, Kind: chat.RunDecide}
	acc := s.accept(message("room", 1), only)
	s.same("without a run", acc, chat.Accepted{Memory: "room/1", Response: 1})
	first := s.accept(message("room", 2), chat.JoinRule{Window: window})
	s.same("with one that waits", s.accept(message("room", 3), only).Run, first.Run)
	s.same("its duty", s.runOf(first).Kind, chat.RunReply)
	time.Sleep(window)
	s.same("with one that is ready", s.accept(message("room", 4), only), chat.Accepted{Memory: "room/4", Response: 3})
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1", "message 2", "message 3", "message 4"})
}

func joinRunning(t *testing.T, s store) {
	one := quota.Charge{Bucket: "ada", Cost: quota.Cost{Messages: 1}, Max: quota.Cost{Messages: 2}}
	var joined []chat.MemoryID
	join := func(r, from chat.Run, over string, want error) {
		t.Helper()
		var got string
		var err error
		joined, got, err = s.Join(t.Context(), r.ID, r.Epoch, from.ID, day, one)
		s.fails(err, want)
		s.same("over its limit", got, over)
	}
	r := s.start(s.opened("room", 1).ID, "owner")
	waits, split := s.opened("room", 2), s.runOf(s.accept(message("room", 3), chat.JoinRule{Window: window}))
	lost := r
	lost.Epoch--
	join(lost, waits, "", answer.ErrLost)
	join(s.start(s.opened("elsewhere", 1).ID, "owner"), waits, "", answer.ErrLost)
	join(r, split, "", answer.ErrLost) // it waits for more
	s.same("an input", s.reread(waits.ID).Inputs, []chat.MemoryID{"room/2"})

	join(r, waits, "", nil)
	s.same("joined", joined, []chat.MemoryID{"room/2"})
	s.same("the inputs", s.reread(r.ID).Inputs, []chat.MemoryID{"room/1", "room/2"})
	ended := s.reread(waits.ID)
	s.same("the run before", []any{ended.Inputs, ended.Ending, ended.Outcome.Done()}, []any{[]chat.MemoryID(nil), answer.Superseded, false})
	s.same("the prompt of the run", s.texts("room", r.Response, 10), []string{"message 1", "message 2"})
	known := require.Value(s.Known(t.Context(), message("room", 2).Memory))(s.t)
	s.same("the run of a repetition", known.Run, r.ID)
	s.spent(day, "ada", quota.Cost{Messages: 1})
	join(r, waits, "", answer.ErrLost) // again

	time.Sleep(window)
	join(r, split, "", nil)
	more := s.accept(message("room", 4), chat.JoinRule{Collect: true})
	if more.Run == split.ID || more.Run == waits.ID {
		t.Errorf("a message joined %s, whose messages have moved", more.Run)
	}
	join(r, s.runOf(more), "ada", nil)
	s.same("the inputs of a run over a limit", s.reread(more.Run).Inputs, []chat.MemoryID{"room/4"})
	s.spent(day, "ada", quota.Cost{Messages: 2})
	s.finish(r, answerOf(r, "answer"))
	one.Max.Messages = 9
	join(r, s.runOf(more), "", answer.ErrLost)
	s.same("the memories", s.texts("room", 9, 10), []string{"message 1", "message 2", "message 3", "answer", "message 4"})
}
