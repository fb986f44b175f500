package storagetest

import (
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

func overviewChecks() []storeCheck {
	return []storeCheck{
		{"lists the runs of all rooms", listsRuns},
		{"lists pending approvals of all rooms", listsApprovals},
		{"lists the notes of all rooms", listsNotes},
		{"finds people by parts of names and ids", findsPeople},
	}
}

func listsRuns(t *testing.T, s store) {
	old := s.opened("a", 1)
	time.Sleep(time.Hour)
	since := time.Now()
	ended, open := s.opened("a", 2), chat.Run{}
	s.finish(s.start(ended.ID, "me"), answerOf(ended, "yes"))
	time.Sleep(time.Second)
	open = s.opened("b", 1)
	list := func(since time.Time, which chat.RunState, limit int) (ids []chat.RunID) {
		all := require.Value(s.RunsSince(t.Context(), since, which, limit))(s.t)
		for _, r := range all {
			ids = append(ids, r.ID)
		}
		return ids
	}
	s.same("all", list(time.Time{}, chat.AnyState, 9), []chat.RunID{open.ID, ended.ID, old.ID})
	s.same("new ones", list(since, chat.AnyState, 9), []chat.RunID{open.ID, ended.ID})
	s.same("open ones", list(time.Time{}, chat.OpenRuns, 9), []chat.RunID{open.ID, old.ID})
	s.same("one", list(time.Time{}, chat.OpenRuns, 1), []chat.RunID{open.ID})
	failed := s.start(open.ID, "me")
	s.must(s.Finish(t.Context(), failed.ID, failed.Epoch, answer.Outcome{Status: answer.Failed, Failure: llm.ProviderIssue}, answerOf(open, "")))
	last := s.opened("c", 1)
	s.finish(s.start(last.ID, "me"), answerOf(last, "yes"))
	s.same("the failed one", list(time.Time{}, chat.FailedRuns, 1), []chat.RunID{open.ID})
}

func listsApprovals(t *testing.T, s store) {
	for _, id := range []string{"1", "2", "3"} {
		_, err := s.RequestApproval(t.Context(), chat.Approval{ID: id, Room: chat.RoomID("room " + id), At: time.Now(), Expires: time.Now().Add(time.Hour), Decision: chat.Pending})
		s.must(err)
		time.Sleep(time.Second)
	}
	s.must(s.DecideApproval(t.Context(), "2", chat.Pending, chat.Denied, "olga", time.Now()))
	all := require.Value(s.PendingApprovals(t.Context(), 9))(s.t)
	var ids []string
	for _, a := range all {
		ids = append(ids, a.ID)
	}
	s.same("pending", ids, []string{"3", "1"})
}

func listsNotes(t *testing.T, s store) {
	for _, room := range []chat.RoomID{"a", "b"} {
		s.opened(room, 1)
		s.must(s.SaveNote(t.Context(), chat.RoomNote{Room: room, Kind: chat.FeedbackNote, Key: "x", Text: "down", At: time.Now()}))
		s.must(s.SaveNote(t.Context(), chat.RoomNote{Room: room, Kind: chat.FactNote, Key: "x", Text: "fact", At: time.Now()}))
		time.Sleep(time.Minute)
	}
	all := require.Value(s.NotesSince(t.Context(), chat.FeedbackNote, time.Now().Add(-90*time.Second), 9))(s.t)
	s.same("the new ones", len(all), 1)
	s.same("the room", all[0].Room, chat.RoomID("b"))
	all = require.Value(s.NotesSince(t.Context(), chat.FeedbackNote, time.Time{}, 9))(s.t)
	s.same("all", len(all), 2)
}

func findsPeople(t *testing.T, s store) {
	for _, e := range []chat.Entity{{ID: "fake/1", Connector: "fake", Names: []string{"Ada", "Countess"}}, {ID: "fake/2", Connector: "fake", Names: []string{"100%", `Мария Özil & "Co" <x>`}}} {
		require.Value(s.SaveEntity(t.Context(), e))(s.t)
	}
	for part, want := range map[string]int{"": 2, "COUNT": 1, "fake/": 2, "fake/2": 1, "0%": 1, "%a": 0, "none": 0, "_": 0, "!": 0, "Мария": 1, "мария ö": 1, "ÖZIL": 1, "özil & \"co\" <X": 1, "Мирия": 0} {
		all := require.Value(s.FindEntities(t.Context(), part, 9))(s.t)
		s.same("the number for "+part, len(all), want)
	}
}
