package storagetest

import (
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage"
	"parley/internal/require"
)

func reopenChecks(reopen func(*testing.T, storage.Store) storage.Store) []storeCheck {
	again := func(s store) store { return store{reopen(s.t, s.Store), s.t} }
	return []storeCheck{
		{"what was said outlives the store (IN-01)", func(t *testing.T, s store) { reopenMemories(t, s, again) }},
		{"what is owed outlives the store (IN-10)", func(t *testing.T, s store) { reopenRuns(t, s, again) }},
		{"reminders outlive the store", func(t *testing.T, s store) { reopenReminders(t, s, again) }},
		{"turns go on after the store was opened again", func(t *testing.T, s store) { reopenTurns(t, s, again) }},
	}
}

func reopenReminders(t *testing.T, s store, again func(store) store) {
	s.opened("room", 1)
	s.adds(reminder("a", "room", 2), reminder("b", "room", 1))
	before := s.reminders("room", "ada")
	s = again(s)
	s.same("the reminders", s.reminders("room", "ada"), before)
}

func reopenMemories(t *testing.T, s store, again func(store) store) {
	room := chat.Room{ID: "room", World: "world", Kind: chat.Group, Connector: "fake", Name: "the room", Created: time.Now()}
	s.must(s.SaveRoom(t.Context(), room))
	r := s.start(s.opened("room", 1).ID, "owner")
	s.finish(r, answerOf(r, "answer 1"))
	s.accept(message("room", 2), chat.JoinRule{NoRun: true})
	before := require.Value(s.Recent(t.Context(), "room", chat.Said, 0, 10))(s.t)
	kept := require.Value(s.Room(t.Context(), "room"))(s.t)

	s = again(s)
	after := require.Value(s.Recent(t.Context(), "room", chat.Said, 0, 10))(s.t)
	s.same("the memories", after, before)
	same := require.Value(s.Room(t.Context(), "room"))(s.t)
	s.same("the room", same, kept)
	if acc := s.accept(message("room", 1), alone); !acc.Duplicate || acc.Run != r.ID {
		t.Errorf("an earlier message was accepted as %+v; want a duplicate with its run", acc)
	}
}

func reopenRuns(t *testing.T, s store, again func(store) store) {
	s.beat("owner", time.Minute)
	r := s.start(s.opened("room", 1).ID, "owner")
	waits := s.opened("room", 2)
	s.note(r, chat.Note{Text: "so far", Shown: []chat.Shown{{Part: 0, ID: "m0"}, {Part: 1}}, Acting: "call", Acted: "result",
		Verdict: &chat.Verdict{Outcome: done, Text: "the last word", History: []string{"looking"}}})
	ended := s.start(s.opened("elsewhere", 1).ID, "owner")
	s.finish(ended, chat.Memory{})
	held, err := s.Run(t.Context(), r.ID)
	s.must(err)

	s = again(s)
	time.Sleep(time.Minute)
	held.Held = false
	s.same("the open runs", s.openRuns("room"), []chat.Run{held, waits})
	rooms, err := s.OpenRooms(t.Context())
	s.must(err)
	s.same("the open rooms", rooms, []chat.RoomID{"room"})
	_, err = s.Start(t.Context(), ended.ID, "new owner")
	s.fails(err, answer.ErrLost)

	s.beat("new owner", time.Minute)
	held.Held, held.Epoch = true, held.Epoch+1
	s.same("the adopted run", s.start(r.ID, "new owner"), held)
	s.fails(s.Finish(t.Context(), r.ID, r.Epoch, done, answerOf(r, "late")), answer.ErrLost)
	s.finish(held, answerOf(held, "the last word"))
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1", "the last word", "message 2"})
}

func reopenTurns(t *testing.T, s store, again func(store) store) {
	first := s.accept(message("room", 1), chat.JoinRule{Window: time.Hour})
	s = again(s)
	joined := s.accept(message("room", 2), chat.JoinRule{Window: time.Hour})
	s.same("the run joined", joined.Run, first.Run)
	s.start(first.Run, "owner")
	s = again(s)
	next := s.accept(message("room", 3), chat.JoinRule{Window: time.Hour})
	s.same("the next turn", next.Response, chat.ResponseID(2))
	s.same("the inputs of the first run", s.openRuns("room")[0].Inputs, []chat.MemoryID{"room/1", "room/2"})
}
