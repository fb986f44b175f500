package storagetest

import (
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

func reopenedChecks() []storeCheck {
	return []storeCheck{
		{"a run is found by its message", runOfMessage},
		{"a run is found by the posted messages of its answer, also in topics", runShowing},
		{"a reopened run edits its own messages (IN-12)", reopenFinished},
		{"reopening a started run fences its holder, which alone can start it while alive (IN-12)", reopenHeld},
		{"runs of these kinds can't be reopened", reopenRefused},
		{"results of choices are reopened though a later run has started, and block no other one", reopenResults},
	}
}

func runOfMessage(t *testing.T, s store) {
	collect := chat.JoinRule{Collect: true}
	acc := s.accept(message("room", 1), collect)
	s.accept(message("room", 2), collect)
	s.accept(message("room", 3), chat.JoinRule{NoRun: true})
	for n := 1; n < 3; n++ {
		r := require.Value(s.RunOf(t.Context(), message("room", n).ID))(s.t)
		s.same("the run", r, s.runOf(acc))
	}
	r := s.start(acc.Run, "owner")
	s.finish(r, answerOf(r, "the answer"))
	for _, id := range []chat.MemoryID{message("room", 3).ID, answerOf(r, "").ID, "nothing"} {
		_, err := s.RunOf(t.Context(), id)
		s.fails(err, chat.ErrNotFound)
	}
}

func runShowing(t *testing.T, s store) {
	says := func(room chat.RoomID, n int, shown ...string) chat.Run {
		r := s.start(s.opened(room, n).ID, "owner")
		var all []chat.Shown
		for part, id := range shown {
			all = append(all, chat.Shown{Part: part, ID: id})
		}
		s.note(r, chat.Note{Shown: all})
		out := answerOf(r, "an answer")
		out.ID = r.Said()
		s.finish(r, out)
		return r
	}
	runs := map[chat.RoomID]chat.Run{}
	for _, room := range []chat.RoomID{"c/1", "c/1/2", "c/1/30", "c/10", "c/1.5", "c/1-5"} {
		runs[room] = says(room, 1, "of "+string(room), `"quoted" `+string(room))
	}
	find := func(room chat.RoomID, topics bool, message string, turns int, want chat.RoomID) {
		t.Helper()
		r, err := s.RunShowing(t.Context(), room, topics, message, turns)
		if want == "" {
			s.fails(err, chat.ErrNotFound)
			return
		}
		s.must(err)
		s.same("the run that shows "+message, r.ID, runs[want].ID)
	}
	for room := range runs {
		find(room, false, "of "+string(room), 50, room)
		find(room, true, `"quoted" `+string(room), 50, room)
	}
	for _, other := range []chat.RoomID{"c/1/2", "c/1/30"} {
		find("c/1", true, "of "+string(other), 50, other)
		find("c/1", false, "of "+string(other), 50, "")
		find(other, true, "of c/1", 50, "")
	}
	for _, other := range []chat.RoomID{"c/10", "c/1.5", "c/1-5"} { // their ids begin alike
		find("c/1", true, "of "+string(other), 50, "")
	}
	find("c/1", true, "unknown", 50, "")
	all := require.Value(s.ShownIn(t.Context(), "c/1", 50))(s.t)
	want := map[chat.RunID][]chat.Shown{}
	for _, room := range []chat.RoomID{"c/1", "c/1/2", "c/1/30"} {
		want[runs[room].ID] = []chat.Shown{{ID: "of " + string(room)}, {Part: 1, ID: `"quoted" ` + string(room)}}
	}
	s.same("the posted messages of a room and its topics", all, want)
	some := require.Value(s.ShownIn(t.Context(), "c/1", 2))(s.t)
	s.same("at most so many", len(some), 2)
	find("nowhere", true, "of c/1", 50, "")

	says("c/1/2", 2)
	find("c/1", true, "of c/1/2", 2, "c/1/2")
	find("c/1", true, "of c/1/2", 1, "") // it is not one of the last
	s.must(s.Forget(t.Context(), message("c/1/30", 1).ID))
	find("c/1", true, "of c/1/30", 50, "")
}

func reopenFinished(t *testing.T, s store) {
	s.beat("first", time.Minute)
	r := s.start(s.opened("room", 1).ID, "first")
	shown := []chat.Shown{{ID: "m1"}, {Part: 1, ID: "m2"}}
	s.note(r, chat.Note{Shown: shown, Text: "the", Verdict: &chat.Verdict{Outcome: done, Text: "the answer"}})
	s.finish(r, answerOf(r, "the answer"))
	s.must(s.Reopen(t.Context(), r.ID))
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1"})
	s.same("the open runs", len(s.openRuns("room")), 1)
	s.fails(s.Finish(t.Context(), r.ID, r.Epoch, done, answerOf(r, "late")), answer.ErrLost)

	s.beat("second", time.Minute)
	again := s.start(r.ID, "second")
	if again.Epoch <= r.Epoch {
		t.Errorf("the epoch is %d; want more than %d", again.Epoch, r.Epoch)
	}
	want := r
	want.Epoch, want.Shown, want.Text = again.Epoch, shown, "the answer"
	s.same("the run", again, want)
	s.finish(again, answerOf(again, "a better answer"))
	s.same("all", s.texts("room", 0, 10), []string{"message 1", "a better answer"})
	s.opened("room", 2)
}

func reopenHeld(t *testing.T, s store) {
	s.beat("first", time.Minute)
	s.beat("second", time.Hour)
	r := s.start(s.opened("room", 1).ID, "first")
	s.note(r, chat.Note{Shown: []chat.Shown{{ID: "m"}, {Part: 1, Sent: "hash"}}}) // the second message is being created
	s.must(s.Reopen(t.Context(), r.ID))
	s.fails(s.Note(t.Context(), r.ID, r.Epoch, chat.Note{Text: "more"}), answer.ErrLost)
	_, err := s.Start(t.Context(), r.ID, "second")
	s.fails(err, chat.ErrBusy)
	s.fails(s.Note(t.Context(), r.ID, r.Epoch, chat.Note{Text: "more", Shown: []chat.Shown{{ID: "m0"}, {Part: 1, ID: "m1"}, {Part: 2, ID: "m2"}}}), answer.ErrLost)
	again := s.start(r.ID, "first")
	s.same("the messages", again.Shown, []chat.Shown{{ID: "m"}, {Part: 1, ID: "m1"}})
	s.same("the text", again.Text, "")
	s.must(s.Reopen(t.Context(), r.ID))
	s.fails(s.Finish(t.Context(), r.ID, again.Epoch, done, chat.Memory{}), answer.ErrLost)
	time.Sleep(2 * time.Minute)
	s.start(r.ID, "second")
}

func reopenResults(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	var results []chat.Run
	for _, id := range []string{"first", "second"} {
		s.must(s.Ask(t.Context(), question(r, id)))
		acc := require.Value(s.Choose(t.Context(), id, 0, pick(chat.MemoryID(id)), "ada"))(s.t)
		result := s.start(acc.Run, "owner")
		s.finish(result, answerOf(result, "chosen"))
		results = append(results, result)
	}
	s.finish(r, answerOf(r, "which?"))
	s.finish(s.start(s.opened("room", 2).ID, "owner"), chat.Memory{})
	for _, result := range results {
		s.must(s.Reopen(t.Context(), result.ID))
	}
	for _, result := range results {
		result = s.start(result.ID, "owner")
		s.finish(result, answerOf(result, "chosen"))
	}
}

func reopenRefused(t *testing.T, s store) {
	refused := func(id chat.RunID) {
		t.Helper()
		before := require.Value(s.Run(t.Context(), id))(s.t)
		s.fails(s.Reopen(t.Context(), id), answer.ErrLost)
		after := require.Value(s.Run(t.Context(), id))(s.t)
		s.same("the run", after, before)
	}
	s.fails(s.Reopen(t.Context(), "nothing"), chat.ErrNotFound)
	waiting := s.opened("waiting", 1)
	refused(waiting.ID)

	old := s.start(s.opened("old", 1).ID, "owner")
	s.finish(old, answerOf(old, "the answer"))
	s.opened("old", 2)
	refused(old.ID)

	for room, n := range map[chat.RoomID]chat.Note{
		"acting": {Acting: "a call"}, "acted": {Acted: "a result"},
		"judged": {Verdict: &chat.Verdict{Outcome: answer.Outcome{Status: answer.Stopped}}},
	} {
		r := s.start(s.opened(room, 1).ID, "owner")
		s.note(r, n)
		refused(r.ID)
	}
	for room, o := range map[chat.RoomID]answer.Outcome{
		"superseded": {Status: answer.Superseded}, "stopped": {Status: answer.Stopped},
		"withdrawn": {Status: answer.Failed, Withdrawn: true},
	} {
		r := s.start(s.opened(room, 1).ID, "owner")
		s.must(s.Finish(t.Context(), r.ID, r.Epoch, o, chat.Memory{}))
		refused(r.ID)
	}
}
