package storagetest

import (
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

func upkeepChecks() []storeCheck {
	return []storeCheck{
		{"clearing a room erases the text of its runs and questions (SE-20)", eraseCleared},
		{"deleting a message erases the text of its run (SE-20)", eraseForgotten},
		{"an open run keeps its text until its end (SE-20)", eraseOpen},
		{"closing a question of a cleared room does not store it again (SE-20)", eraseRetired},
		{"only ended runs, their questions, empty rooms and strangers expire by age (SE-20)", expireRest},
		{"old messages expire with their answers and summaries, and facts stay", expireMessages},
		{"the contents of old files expire, and their messages stay", expireFiles},
	}
}

// told is a run that has ended, with all the text there can be.
func (s store) told(room chat.RoomID, n int) chat.Run {
	s.t.Helper()
	r := s.start(s.opened(room, n).ID, "owner")
	s.note(r, chat.Note{Text: "so far", Acting: "call", Acted: "result", Verdict: &chat.Verdict{Outcome: done, Text: "the answer"}})
	s.finish(r, answerOf(r, "the answer"))
	return r
}

// wantsErased fails unless a run holds no text.
func (s store) wantsErased(id chat.RunID, acted string) {
	s.t.Helper()
	r := require.Value(s.Run(s.t.Context(), id))(s.t)
	if r.Text != "" || r.Verdict != nil || r.Acting != acted || r.Acted != acted {
		s.t.Errorf("the run %s holds %q, %+v, %q, %q; want no text", id, r.Text, r.Verdict, r.Acting, r.Acted)
	}
}

func eraseCleared(t *testing.T, s store) {
	r, other := s.told("room", 1), s.told("other", 1)
	s.must(s.Ask(t.Context(), question(r, "q")))
	s.must(s.Ask(t.Context(), question(other, "other")))
	acc, err := s.Choose(t.Context(), "q", 0, pick("press"), "ada")
	s.must(err)
	carrier := s.start(acc.Run, "owner")
	s.finish(carrier, answerOf(carrier, "done"))
	s.must(s.Ask(t.Context(), question(r, "open")))
	_, err = s.Clear(t.Context(), "room")
	s.must(err)
	s.wantsErased(r.ID, "-")
	s.wantsErased(carrier.ID, "")
	for _, id := range []string{"q", "open"} {
		_, err = s.Question(t.Context(), id)
		s.fails(err, chat.ErrNotFound)
	}
	_, err = s.Question(t.Context(), "other")
	s.must(err)
	if r, err := s.Run(t.Context(), other.ID); err != nil || r.Verdict == nil || r.Text == "" {
		t.Errorf("the run of another room is %+v, %v; want it unchanged", r, err)
	}
}

func eraseForgotten(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.note(r, chat.Note{Text: "so far", Verdict: &chat.Verdict{Outcome: done, Text: "the answer"}})
	s.must(s.Ask(t.Context(), question(r, "q")))
	s.finish(r, answerOf(r, "the answer"))
	s.must(s.Forget(t.Context(), "room/1"))
	s.wantsErased(r.ID, "")
	_, err := s.Question(t.Context(), "q")
	s.fails(err, chat.ErrNotFound)
}

func eraseOpen(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.must(s.Ask(t.Context(), question(r, "q")))
	acc, err := s.Choose(t.Context(), "q", 0, pick("press"), "ada")
	s.must(err)
	s.note(r, chat.Note{Text: "so far", Verdict: &chat.Verdict{Outcome: done, Text: "the answer"}})
	_, err = s.Clear(t.Context(), "room")
	s.must(err)
	if r := s.runOf(chat.Accepted{Run: r.ID}); r.Verdict == nil {
		t.Error("an open run has lost its verdict; want it kept")
	}
	s.finish(r, answerOf(r, "the answer"))
	if r := s.runOf(chat.Accepted{Run: r.ID}); r.Verdict == nil {
		t.Error("the run has lost its verdict; want it until the run of the choice has ended")
	}
	_, err = s.QuestionOf(t.Context(), acc.Run)
	s.must(err)
	carrier := s.start(acc.Run, "owner")
	s.finish(carrier, answerOf(carrier, "done"))
	s.wantsErased(r.ID, "")
	_, err = s.Question(t.Context(), "q")
	s.fails(err, chat.ErrNotFound)
	s.same("the memories", s.texts("room", 0, 10), []string{"done"})
}

func eraseRetired(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.must(s.Ask(t.Context(), question(r, "q")))
	s.note(r, chat.Note{Verdict: &chat.Verdict{Outcome: done, Text: "the answer"}})
	s.finish(r, answerOf(r, "the answer"))
	acc := require.Value(s.Retire(t.Context(), "q"))(s.t)
	require.Value(s.Clear(t.Context(), "room"))(s.t)
	carrier := s.start(acc.Run, "owner")
	if r := s.runOf(chat.Accepted{Run: r.ID}); r.Verdict == nil {
		t.Error("the run has lost its verdict; want it until the options are removed")
	}
	s.note(carrier, chat.Note{Verdict: &chat.Verdict{Outcome: done, Text: "the answer"}})
	s.finish(carrier, answerOf(carrier, "the answer"))
	s.same("the memories", s.texts("room", 0, 10), []string{})
	s.wantsErased(r.ID, "")
	s.wantsErased(carrier.ID, "")
}

func expireRest(t *testing.T, s store) {
	at := func(id chat.RoomID, world chat.WorldID) {
		s.must(s.SaveRoom(t.Context(), chat.Room{ID: id, World: world, Kind: chat.API, Created: time.Now()}))
	}
	for _, id := range []chat.RoomID{"empty", "muted", "noted", "reached"} {
		at(id, "")
	}
	at("of a world", "world")
	s.must(s.SaveRoom(t.Context(), chat.Room{ID: "of no age"}))
	s.must(s.SetAttention(t.Context(), "muted", chat.Muted))
	s.must(s.SaveNote(t.Context(), chat.RoomNote{Room: "noted", Kind: chat.SettingNote, Key: "k", Text: "t"}))
	s.must(s.Approve(t.Context(), chat.Person{ID: "bob", Address: chat.Address{Connector: "fake", Room: "reached"}}))
	for _, id := range []chat.EntityID{"ada", "bob", "member", "gone", "stranger"} {
		require.Value(s.SaveEntity(t.Context(), chat.Entity{ID: id, Names: []string{string(id)}}))(s.t)
	}
	for _, id := range []chat.EntityID{"member", "gone"} {
		require.Value(s.SaveMember(t.Context(), chat.Member{World: "world", Entity: id, Gone: id == "gone"}))(s.t)
	}
	ended, open := s.told("room", 1), s.opened("room", 2)
	s.must(s.Ask(t.Context(), question(ended, "q")))
	time.Sleep(time.Hour)
	at("fresh", "")
	later := s.told("room", 3)
	_, err := s.SaveEntity(t.Context(), chat.Entity{ID: "newcomer", Names: []string{"New"}})
	s.must(err)
	for more := true; more; {
		more, err = s.Expire(t.Context(), chat.Expiry{Rest: time.Now().Add(-time.Minute)})
		s.must(err)
	}
	gone := func(what string, err error, want bool) {
		t.Helper()
		if want {
			s.fails(err, chat.ErrNotFound)
		} else if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for id, want := range map[chat.RunID]bool{ended.ID: true, open.ID: false, later.ID: false} {
		_, err := s.Run(t.Context(), id)
		gone(string(id), err, want)
	}
	_, err = s.Question(t.Context(), "q")
	gone("the question", err, true)
	for id, want := range map[chat.RoomID]bool{"empty": true, "muted": false, "noted": false, "reached": false, "of a world": false, "of no age": false, "fresh": false, "room": false} {
		_, err := s.Room(t.Context(), id)
		gone(string(id), err, want)
	}
	for id, want := range map[chat.EntityID]bool{"ada": false, "bob": false, "member": false, "gone": true, "stranger": true, "newcomer": false} {
		_, err := s.Entity(t.Context(), id)
		gone(string(id), err, want)
	}
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1", "the answer", "message 2", "message 3", "the answer"})
	known := s.known(message("room", 1))
	s.same("a message whose run has expired", known, chat.Accepted{Memory: "room/1", Response: 1, Duplicate: true})
	if next := s.accept(message("room", 4), alone); next.Response != 4 {
		t.Errorf("the next turn is %d; want 4", next.Response)
	}
}

func expireMessages(t *testing.T, s store) {
	old := s.told("room", 1)
	s.must(s.SaveNote(t.Context(), noted(chat.FactNote, "f", "room/1", "room/1")))
	s.must(s.SaveNote(t.Context(), noted(chat.SummaryNote, "", "room/1", "room/1")))
	open := s.opened("room", 2)
	for n := range 300 { // more than one step takes
		s.accept(message("busy", n), chat.JoinRule{NoRun: true})
	}
	time.Sleep(time.Hour)
	at := time.Now()
	later := s.opened("room", 3)
	s.expires(chat.Expiry{})
	s.same("without a time", len(s.texts("busy", 0, 1000)), 300)
	s.expires(chat.Expiry{Messages: at})
	s.same("the messages", s.texts("room", 0, 10), []string{"message 2", "message 3"})
	s.same("those of another room", len(s.texts("busy", 0, 1000)), 0)
	s.wantsErased(old.ID, "-")
	s.same("the facts", len(s.notes("room", chat.FactNote, 5)), 1)
	s.same("the summaries", len(s.notes("room", chat.SummaryNote, 5)), 0)
	s.same("a redelivery", s.known(message("room", 1)).Duplicate, true)
	for _, r := range []chat.Run{open, later} {
		s.runOf(chat.Accepted{Run: r.ID})
	}
	r := s.start(open.ID, "owner")
	s.finish(r, answerOf(r, "the answer"))
	s.expires(chat.Expiry{Messages: at})
	s.same("the messages after the run", s.texts("room", 0, 10), []string{"message 3"})
}

func expireFiles(t *testing.T, s store) {
	answered := s.shown(1, twoFiles)
	s.finish(answered, answerOf(answered, "look"))
	s.sends(upload("room", "a"))
	_, err := s.NameUploads(t.Context(), "room/1", "room/a")
	s.must(err)
	time.Sleep(time.Hour)
	at := time.Now()
	later := s.shown(2, twoFiles)
	s.finish(later, answerOf(later, "look"))
	s.sends(upload("room", "b"))
	_, err = s.NameUploads(t.Context(), "room/2", "room/b")
	s.must(err)
	s.expires(chat.Expiry{Files: at})
	s.shows(answered)
	s.shows(later, twoFiles...)
	s.evicted(map[string]bool{"a": true, "b": false})
	for _, piece := range []int{0, chat.ThumbnailPiece} {
		_, err = s.Piece(t.Context(), "room/a", piece)
		s.fails(err, chat.ErrNotFound)
	}
	_, err = s.Piece(t.Context(), "room/b", 0)
	s.must(err)
	s.same("the messages", s.texts("room", 0, 10), []string{"message 1", "look", "message 2", "look"})
}
