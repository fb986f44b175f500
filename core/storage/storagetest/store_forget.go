package storagetest

import (
	"testing"

	"parley/core/chat"
	"parley/internal/require"
)

func forgetChecks() []storeCheck {
	return []storeCheck{
		{"Revise changes only the text of a memory (IN-12)", reviseText},
		{"an unknown memory can't be revised", reviseNothing},
		{"deleting a message deletes its answer", forgetQuestion},
		{"an answer stays while one of its messages does", forgetOneOfTwo},
		{"deleting an answer or a remark deletes nothing else", forgetAlone},
		{"deleting twice has no further effect", forgetTwice},
		{"a waiting run stays joinable when its message is deleted", forgetWaiting},
		{"the answer to deleted messages is not stored", forgetAnswering},
		{"clearing a room deletes its memories and keeps its runs and turn numbers", clearRoom},
	}
}

func (s store) memory(id chat.MemoryID) chat.Memory {
	s.t.Helper()
	m := require.Value(s.Memory(s.t.Context(), id))(s.t)
	return m
}

func reviseText(t *testing.T, s store) {
	in := message("room", 1)
	acc := s.accept(in, alone)
	s.opened("room", 2)
	s.must(s.Revise(t.Context(), in.ID, "another 🙂", []chat.Attachment{{Name: "a"}}))
	s.must(s.Revise(t.Context(), in.ID, "another 🙂", []chat.Attachment{{Name: "a"}}))
	want := in.Memory
	want.Text, want.Files = "another 🙂", []chat.Attachment{{Name: "a"}}
	s.same("the memory", s.memory(in.ID), want)
	s.same("the memories", s.texts("room", 0, 10), []string{"another 🙂", "message 2"})
	s.same("the inputs", s.runOf(acc).Inputs, []chat.MemoryID{in.ID})
	acc.Duplicate, acc.Altered = true, true
	s.same("accepted as it was", s.accept(in, alone), acc)
}

func reviseNothing(t *testing.T, s store) {
	s.fails(s.Revise(t.Context(), "nothing", "text", nil), chat.ErrNotFound)
}

func forgetQuestion(t *testing.T, s store) {
	in := message("room", 1)
	acc := s.accept(in, alone)
	r := s.start(acc.Run, "owner")
	s.finish(r, answerOf(r, "the answer"))
	s.opened("room", 2)
	s.must(s.Forget(t.Context(), in.ID))
	s.same("the memories", s.texts("room", 0, 10), []string{"message 2"})
	_, err := s.Memory(t.Context(), in.ID)
	s.fails(err, chat.ErrNotFound)
	after := s.runOf(acc)
	s.same("the inputs", after.Inputs, []chat.MemoryID{})
	s.same("the outcome", after.Outcome, done)
}

func forgetOneOfTwo(t *testing.T, s store) {
	collect := chat.JoinRule{Collect: true}
	first, second := message("room", 1), message("room", 2)
	acc := s.accept(first, collect)
	s.accept(second, collect)
	r := s.start(acc.Run, "owner")
	s.finish(r, answerOf(r, "the answer"))
	s.must(s.Forget(t.Context(), first.ID))
	s.same("the memories", s.texts("room", 0, 10), []string{"message 2", "the answer"})
	s.same("the inputs", s.runOf(acc).Inputs, []chat.MemoryID{second.ID})
	s.must(s.Forget(t.Context(), second.ID))
	s.same("the memories", s.texts("room", 0, 10), []string{})
}

func forgetAlone(t *testing.T, s store) {
	remark := message("room", 1)
	s.accept(remark, chat.JoinRule{NoRun: true})
	r := s.start(s.opened("room", 2).ID, "owner")
	s.finish(r, answerOf(r, "the answer"))
	s.must(s.Forget(t.Context(), remark.ID))
	s.same("the memories", s.texts("room", 0, 10), []string{"message 2", "the answer"})
	s.must(s.Forget(t.Context(), answerOf(r, "").ID))
	s.same("without the answer", s.texts("room", 0, 10), []string{"message 2"})
}

func forgetTwice(t *testing.T, s store) {
	in := message("room", 1)
	s.accept(in, alone)
	s.opened("room", 2)
	for range 2 {
		s.must(s.Forget(t.Context(), in.ID))
		s.same("the memories", s.texts("room", 0, 10), []string{"message 2"})
	}
	s.must(s.Forget(t.Context(), "nothing"))
}

func forgetWaiting(t *testing.T, s store) {
	in := message("room", 1)
	acc := s.accept(in, alone)
	s.must(s.Forget(t.Context(), in.ID))
	s.same("the open runs", len(s.openRuns("room")), 1)
	next := s.accept(message("room", 2), chat.JoinRule{Collect: true})
	s.same("joined", next.Run, acc.Run)
	s.same("the inputs", s.start(acc.Run, "owner").Inputs, []chat.MemoryID{message("room", 2).ID})
}

func forgetAnswering(t *testing.T, s store) {
	acc := s.accept(message("room", 1), alone)
	r := s.start(acc.Run, "owner")
	s.must(s.Forget(t.Context(), message("room", 1).ID))
	s.finish(r, answerOf(r, "the answer"))
	s.same("the memories", s.texts("room", 0, 10), []string{})
	s.same("the outcome", s.runOf(acc).Outcome, done)
}

func clearRoom(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.finish(r, answerOf(r, "the answer"))
	s.opened("room", 2)
	s.opened("other", 3)
	clear := func() int {
		n := require.Value(s.Clear(t.Context(), "room"))(s.t)
		return n
	}
	s.same("deleted", clear(), 3)
	s.same("the memories", s.texts("room", 0, 10), []string{})
	s.same("said elsewhere", s.texts("other", 0, 10), []string{"message 3"})
	s.same("deleted again", clear(), 0)

	open := s.openRuns("room")
	s.same("the open runs", len(open), 1)
	r = s.start(open[0].ID, "owner")
	s.same("the inputs", r.Inputs, []chat.MemoryID{})
	s.finish(r, chat.Memory{})
	s.same("the next turn", s.accept(message("room", 4), alone).Response, chat.ResponseID(3))
	require.Value(s.Room(t.Context(), "room"))(s.t)
}
