package storagetest

import (
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

func runChecks() []storeCheck {
	return []storeCheck{
		{"notes of a run accumulate and zero fields change nothing (IN-10)", noteAddsUp},
		{"posted messages are stored by part", noteShown},
		{"a withdrawn intent leaves no part (ST-26)", noteWithdrawn},
		{"a verdict is returned unchanged (DI-05)", noteVerdict},
		{"writes of an old epoch are refused (IN-09, DI-01)", epochFences},
		{"writes to an ended run are refused", finishedIsLost},
		{"an unknown run is not found", unknownRun},
		{"Finish releases the room (IN-08)", finishFrees},
		{"a run that never started can end", finishWaiting},
		{"an outcome needs a status", finishNeedsStatus},
		{"every outcome is returned unchanged", finishOutcomes},
	}
}

func noteWithdrawn(t *testing.T, s store) {
	s.beat("owner", time.Hour)
	r := s.start(s.opened("room", 1).ID, "owner")
	s.note(r, chat.Note{Shown: []chat.Shown{{Part: 0, Sent: "hash"}}})
	s.note(r, chat.Note{Shown: []chat.Shown{}})
	if shown := s.reread(r.ID).Shown; len(shown) > 0 {
		t.Errorf("the posted parts are %+v; want none", shown)
	}
}

func noteAddsUp(t *testing.T, s store) {
	s.beat("owner", time.Hour)
	r := s.start(s.opened("room", 1).ID, "owner")
	s.note(r, chat.Note{Text: "so"})
	s.note(r, chat.Note{Acting: "call 1"})
	s.note(r, chat.Note{Acted: "done 1", Text: "so far"})
	s.note(r, chat.Note{})
	r.Text, r.Acting, r.Acted = "so far", "call 1", "done 1"
	got := require.Value(s.Run(t.Context(), r.ID))(s.t)
	s.same("the run", got, r)
}

func noteShown(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	shown := func(want ...chat.Shown) {
		t.Helper()
		got := require.Value(s.Run(t.Context(), r.ID))(s.t)
		s.same("the posted messages", got.Shown, want)
	}
	s.note(r, chat.Note{Shown: []chat.Shown{{Part: 0}, {Part: 1, ID: "m1"}}})
	shown(chat.Shown{Part: 0}, chat.Shown{Part: 1, ID: "m1"})
	s.note(r, chat.Note{Text: "nothing new"})
	shown(chat.Shown{Part: 0}, chat.Shown{Part: 1, ID: "m1"})
	intent := chat.Shown{Part: 2, Sent: "hash", Last: true, Tries: 2, At: time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)}
	s.note(r, chat.Note{Shown: []chat.Shown{{Part: 0, ID: "m0"}, intent}})
	shown(chat.Shown{Part: 0, ID: "m0"}, intent)
	s.note(r, chat.Note{Shown: []chat.Shown{}})
	shown()
}

func noteVerdict(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	want := chat.Verdict{
		Outcome: answer.Outcome{Status: answer.Failed, Failure: llm.RateLimited, Withdrawn: true},
		Text:    "the last word",
		History: []string{"looking", "found\nit"},
		Calls:   []answer.PastCall{{ID: "c", Tool: answer.Tool{Name: "LOOK", Stage: answer.StageEnd, Success: true}, At: 3}},
	}
	s.note(r, chat.Note{Verdict: &want})
	s.note(r, chat.Note{Text: "more"})
	got := s.openRuns("room")[0]
	if got.Verdict == nil {
		t.Fatal("the open run has no verdict; want the one that was noted")
	}
	s.same("the verdict", *got.Verdict, want)
	s.same("the outcome before the end", got.Outcome, answer.Outcome{})
}

func epochFences(t *testing.T, s store) {
	old := s.start(s.opened("room", 1).ID, "owner")
	now := s.start(old.ID, "owner")
	s.same("the epochs", []chat.Epoch{old.Epoch, now.Epoch}, []chat.Epoch{1, 2})
	for _, epoch := range []chat.Epoch{0, old.Epoch, now.Epoch + 1} {
		s.fails(s.Note(t.Context(), old.ID, epoch, chat.Note{Text: "old"}), answer.ErrLost)
		s.fails(s.Finish(t.Context(), old.ID, epoch, done, answerOf(old, "old")), answer.ErrLost)
	}
	got := require.Value(s.Run(t.Context(), old.ID))(s.t)
	s.same("the run", got, now)
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1"})
	s.finish(now, answerOf(now, "new"))
	s.same("the memories then", s.texts("room", 0, 10), []string{"message 1", "new"})
}

func finishedIsLost(t *testing.T, s store) {
	s.beat("owner", time.Hour)
	r := s.start(s.opened("room", 1).ID, "owner")
	s.finish(r, answerOf(r, "the answer"))
	_, err := s.Start(t.Context(), r.ID, "owner")
	s.fails(err, answer.ErrLost)
	s.fails(s.Note(t.Context(), r.ID, r.Epoch, chat.Note{Text: "late"}), answer.ErrLost)
	s.fails(s.Finish(t.Context(), r.ID, r.Epoch, answer.Outcome{Status: answer.Stopped}, answerOf(r, "again")), answer.ErrLost)
	r.Held, r.Outcome = false, done
	got := require.Value(s.Run(t.Context(), r.ID))(s.t)
	s.same("the run", got, r)
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1", "the answer"})
}

func unknownRun(t *testing.T, s store) {
	s.opened("room", 1)
	_, err := s.Run(t.Context(), "nowhere#1")
	s.fails(err, chat.ErrNotFound)
	_, err = s.Start(t.Context(), "nowhere#1", "owner")
	s.fails(err, chat.ErrNotFound)
	s.fails(s.Note(t.Context(), "nowhere#1", 1, chat.Note{Text: "text"}), answer.ErrLost)
	s.fails(s.Finish(t.Context(), "nowhere#1", 1, done, chat.Memory{}), answer.ErrLost)
	s.same("the open runs of an unknown room", s.openRuns("nowhere"), []chat.Run{})
}

func finishFrees(t *testing.T, s store) {
	first, second := s.opened("room", 1), s.opened("room", 2)
	elsewhere := s.opened("elsewhere", 1)
	r := s.start(first.ID, "owner")
	_, err := s.Start(t.Context(), second.ID, "owner")
	s.fails(err, chat.ErrBusy)
	s.finish(r, chat.Memory{})
	s.same("the open runs", s.openRuns("room"), []chat.Run{second})
	s.finish(s.start(second.ID, "owner"), chat.Memory{})
	s.same("the open runs at the end", s.openRuns("room"), []chat.Run{})
	rooms := require.Value(s.OpenRooms(t.Context()))(s.t)
	s.same("the open rooms", rooms, []chat.RoomID{elsewhere.Room})
}

func finishWaiting(t *testing.T, s store) {
	first, second := s.opened("room", 1), s.opened("room", 2)
	s.start(second.ID, "owner")
	s.must(s.Finish(t.Context(), first.ID, 0, answer.Outcome{Status: answer.Superseded}, chat.Memory{}))
	_, err := s.Start(t.Context(), first.ID, "owner")
	s.fails(err, answer.ErrLost)
	s.same("the number of open runs", len(s.openRuns("room")), 1)
}

func finishNeedsStatus(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	if err := s.Finish(t.Context(), r.ID, r.Epoch, answer.Outcome{}, chat.Memory{}); err == nil {
		t.Error("Finish accepted an outcome without a status; want an error")
	}
	s.same("the number of open runs", len(s.openRuns("room")), 1)
}

func finishOutcomes(t *testing.T, s store) {
	var last chat.Run
	for n, o := range []answer.Outcome{
		{Status: answer.Ignored}, {Status: answer.Superseded, Withdrawn: true}, {Status: answer.Failed, Failure: llm.NoProvider, Partial: true},
		{Status: answer.Ignored, Reason: "It is over.", Usage: &llm.UsageSum{Calls: 2, Prompt: 90, Completion: 10, Cached: 40, Provider: "p", Model: "m", Estimated: true}},
		{Status: answer.Ignored, Effort: answer.Effort{
			Rounds: 2, Failovers: 1, Sources: "FACTS, RECALLED", Edits: 7, Holds: 3,
			Prompt: &answer.Prompt{Instructions: "1x", Since: time.Unix(7, 5).UTC(), Recalled: []string{"m"}, Facts: []time.Time{time.Unix(3, 1).UTC()}},
		}},
	} {
		r := s.start(s.opened("room", n).ID, "owner")
		s.must(s.Finish(t.Context(), r.ID, r.Epoch, o, chat.Memory{}))
		got := require.Value(s.Run(t.Context(), r.ID))(s.t)
		s.same("the outcome", got.Outcome, o)
		last = r
	}
	s.same("the memories", s.texts("room", 0, 10), []string{"message 0", "message 1", "message 2", "message 3", "message 4"})
	s.must(s.Reopen(t.Context(), last.ID))
	s.same("the outcome of a reopened run", s.reread(last.ID).Outcome, answer.Outcome{})
	s.finish(s.start(last.ID, "owner"), chat.Memory{})
	s.same("the outcome of its second end", s.reread(last.ID).Outcome, done)
}
