package storagetest

import (
	"fmt"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

func noteChecks() []storeCheck {
	return []storeCheck{
		{"a note is returned unchanged in its room", noteWhole},
		{"a note replaces the one with its key", noteAgain},
		{"Notes returns the newest up to its limit, oldest first", notesNewest},
		{"a note is deleted with its source message", noteForgotten},
		{"a cleared room keeps settings and people; a deleted room keeps neither (SE-20)", noteCleared},
		{"facts from deleted messages are not stored", noteTooLate},
		{"a note is deleted when it expires", noteExpires},
		{"notes about a person are found in all rooms or in shared rooms", notesAbout},
		{"notes about a person are deleted with their source messages in all rooms", notesAboutForgotten},
	}
}

// noted is a note on the messages from first to last of a room.
func noted(kind chat.NoteKind, key string, first, last chat.MemoryID) chat.RoomNote {
	return chat.RoomNote{Room: "room", Kind: kind, Key: key, Text: "note " + key, First: first, Last: last, At: time.Unix(1, 2).UTC()}
}

func (s store) notes(room chat.RoomID, kind chat.NoteKind, limit int) []chat.RoomNote {
	s.t.Helper()
	all := require.Value(s.Notes(s.t.Context(), room, kind, limit))(s.t)
	return all
}

func noteWhole(t *testing.T, s store) {
	s.fails(s.SaveNote(t.Context(), noted(chat.SettingNote, "a", "", "")), chat.ErrNotFound)
	in := message("room", 1)
	s.accept(in, alone)
	s.opened("other", 2)
	fact := noted(chat.FactNote, "a", in.ID, in.ID)
	fact.About, fact.Text = "ann", "Ann: likes 🙂\n'tea'"
	setting := noted(chat.SettingNote, "a", "", "")
	s.must(s.SaveNote(t.Context(), fact))
	s.must(s.SaveNote(t.Context(), setting))
	s.same("the facts", s.notes("room", chat.FactNote, 5), []chat.RoomNote{fact})
	s.same("the settings", s.notes("room", chat.SettingNote, 5), []chat.RoomNote{setting})
	s.same("those of another room", len(s.notes("other", chat.FactNote, 5)), 0)
}

func noteAgain(t *testing.T, s store) {
	s.opened("room", 1)
	for _, key := range []string{"a", "b", "a"} {
		s.must(s.SaveNote(t.Context(), noted(chat.SettingNote, key, "", "")))
	}
	s.same("the notes", s.notes("room", chat.SettingNote, 5), []chat.RoomNote{noted(chat.SettingNote, "b", "", ""), noted(chat.SettingNote, "a", "", "")})
	gone := noted(chat.SettingNote, "b", "", "")
	gone.Text = ""
	s.must(s.SaveNote(t.Context(), gone))
	s.must(s.SaveNote(t.Context(), gone))
	s.same("the notes", s.notes("room", chat.SettingNote, 5), []chat.RoomNote{noted(chat.SettingNote, "a", "", "")})
}

func notesNewest(t *testing.T, s store) {
	s.opened("room", 1)
	for n := range chat.MaxNotes + 3 {
		s.must(s.SaveNote(t.Context(), noted(chat.FactNote, fmt.Sprint(n), "", "")))
	}
	all := s.notes("room", chat.FactNote, 2*chat.MaxNotes)
	s.same("the number of records", len(all), chat.MaxNotes)
	s.same("the oldest", all[0], noted(chat.FactNote, "3", "", ""))
	s.same("the newest", s.notes("room", chat.FactNote, 1), all[len(all)-1:])
	s.same("none", len(s.notes("room", chat.FactNote, 0)), 0)
}

func noteForgotten(t *testing.T, s store) {
	var ids []chat.MemoryID
	for n := range 5 {
		in := message("room", n)
		s.accept(in, alone)
		ids = append(ids, in.ID)
	}
	keys := func(want ...string) {
		t.Helper()
		got := []string{}
		for _, n := range s.notes("room", chat.FactNote, 10) {
			got = append(got, n.Key)
		}
		s.same("the notes", got, want)
	}
	for n := range 4 {
		s.must(s.SaveNote(t.Context(), noted(chat.FactNote, fmt.Sprint(n), ids[n], ids[n+1])))
	}
	s.must(s.SaveNote(t.Context(), noted(chat.FactNote, "chosen", "", "")))
	s.must(s.Forget(t.Context(), ids[0]))
	keys("1", "2", "3", "chosen")
	s.must(s.Revise(t.Context(), ids[2], "another text", nil))
	keys("3", "chosen")
	require.Value(s.Clear(t.Context(), "room"))(s.t)
	keys()
}

func noteCleared(t *testing.T, s store) {
	s.opened("room", 1)
	s.opened("other", 2)
	ada := chat.Entity{ID: "ada", Connector: "fake", Names: []string{"Ada"}, Details: map[string]string{"language": "French"}}
	bob := ada
	bob.ID = "bob"
	s.meets(ada, chat.Came)
	s.meets(bob, chat.Came)
	elsewhere := noted(chat.SettingNote, "a", "", "")
	elsewhere.Room = "other"
	s.must(s.SaveNote(t.Context(), elsewhere))
	for _, kind := range []chat.NoteKind{chat.FactNote, chat.SummaryNote, chat.EvaluationNote, chat.SettingNote, chat.ReaderNote, chat.LinkNote} {
		s.must(s.SaveNote(t.Context(), noted(kind, "a", "", "")))
	}
	kept := func(facts, settings int, of chat.Entity) {
		t.Helper()
		s.same("the facts", len(s.notes("room", chat.FactNote, 5)), facts)
		s.same("the summaries", len(s.notes("room", chat.SummaryNote, 5)), facts)
		s.same("the evaluations", len(s.notes("room", chat.EvaluationNote, 5)), facts)
		s.same("the settings", len(s.notes("room", chat.SettingNote, 5)), settings)
		s.same("the readers", len(s.notes("room", chat.ReaderNote, 5)), settings)
		s.same("the links", len(s.notes("room", chat.LinkNote, 5)), settings)
		got := require.Value(s.Entity(t.Context(), "ada"))(s.t)
		s.same("ada", got, of)
	}
	kept(1, 1, ada)
	n := require.Value(s.Clear(t.Context(), "room"))(s.t)
	s.same("deleted", n, 1)
	kept(0, 1, ada)
	require.Value(s.ClearEntirely(t.Context(), "room", ""))(s.t)
	kept(0, 0, ada)
	s.opened("room", 3)
	n = require.Value(s.ClearEntirely(t.Context(), "room", "ada"))(s.t)
	s.same("deleted", n, 1)
	kept(0, 0, chat.Entity{ID: "ada", Connector: "fake"})
	got := require.Value(s.Entity(t.Context(), "bob"))(s.t)
	s.same("bob", got, bob)
	s.same("the settings elsewhere", len(s.notes("other", chat.SettingNote, 5)), 1)
	s.meets(chat.Entity{ID: "ada", Connector: "fake", Names: []string{"Ada"}}, chat.Changed)
}

func noteTooLate(t *testing.T, s store) {
	in, other := message("room", 1), message("other", 2)
	s.accept(in, alone)
	s.accept(other, alone)
	s.fails(s.SaveNote(t.Context(), noted(chat.FactNote, "a", in.ID, other.ID)), chat.ErrNotFound)
	s.must(s.Forget(t.Context(), in.ID))
	s.fails(s.SaveNote(t.Context(), noted(chat.FactNote, "a", in.ID, in.ID)), chat.ErrNotFound)
	s.same("the notes", len(s.notes("room", chat.FactNote, 5)), 0)
}

func noteExpires(t *testing.T, s store) {
	s.opened("room", 1)
	fact := noted(chat.FactNote, "a", "", "")
	fact.About, fact.Expires = "ada", time.Now().Add(time.Hour).UTC()
	s.must(s.SaveNote(t.Context(), fact))
	s.must(s.SaveNote(t.Context(), noted(chat.FactNote, "b", "", "")))
	expire := func() {
		t.Helper()
		for more := true; more; {
			var err error
			more, err = s.Expire(t.Context(), chat.Expiry{})
			s.must(err)
		}
	}
	expire()
	s.same("before its time", s.notes("room", chat.FactNote, 5), []chat.RoomNote{fact, noted(chat.FactNote, "b", "", "")})
	time.Sleep(time.Hour)
	s.same("at its time", s.notes("room", chat.FactNote, 5), []chat.RoomNote{noted(chat.FactNote, "b", "", "")})
	s.same("elsewhere", len(s.about("ada", false)), 0)
	time.Sleep(time.Second)
	expire()
	s.same("the deletion time", s.notes("room", chat.FactNote, 5), []chat.RoomNote{noted(chat.FactNote, "b", "", "")})
}

// about returns the texts of the facts about a person.
func (s store) about(person chat.EntityID, shared bool) (texts []string) {
	s.t.Helper()
	all := require.Value(s.NotesAbout(s.t.Context(), person, chat.FactNote, shared, 3))(s.t)
	for _, n := range all {
		texts = append(texts, n.Text)
	}
	return texts
}

// knows stores a fact about a person from a message of a room.
func (s store) knows(room chat.RoomID, kind chat.RoomKind, person chat.EntityID, fact string) chat.MemoryID {
	s.t.Helper()
	in := message(room, int(s.turns(room))+1)
	in.Place.Kind = kind
	s.accept(in, alone)
	s.must(s.SaveNote(s.t.Context(), chat.RoomNote{Room: room, Kind: chat.FactNote, Key: fact, About: person, Text: fact, First: in.ID, Last: in.ID, At: time.Now()}))
	return in.ID
}

// turns returns how many turns a room had.
func (s store) turns(room chat.RoomID) chat.ResponseID {
	s.t.Helper()
	acc := require.Value(s.Mark(s.t.Context(), room, chat.MemoryID(fmt.Sprint(room, time.Now().UnixNano()))))(s.t)
	time.Sleep(time.Nanosecond)
	return acc.Response
}

func notesAbout(_ *testing.T, s store) {
	s.knows("group", chat.Group, "ada", "in the group")
	s.knows("direct", chat.Direct, "ada", "in private")
	s.knows("api", chat.API, "ada", "on the web")
	s.knows("group", chat.Group, "bob", "of bob")
	s.knows("group", chat.Group, "", "of the room")
	s.knows("thread", chat.Thread, "ada", "in a thread")
	s.same("about Ada", s.about("ada", false), []string{"in private", "on the web", "in a thread"})
	s.same("about Ada, shared", s.about("ada", true), []string{"in the group", "in a thread"})
	s.same("about Bob", s.about("bob", true), []string{"of bob"})
	s.same("about no one", s.about("", false), []string(nil))
}

func notesAboutForgotten(t *testing.T, s store) {
	first := s.knows("group", chat.Group, "ada", "first")
	second := s.knows("direct", chat.Direct, "ada", "second")
	s.knows("group", chat.Group, "ada", "third")
	s.must(s.Forget(t.Context(), first))
	s.same("after a deletion", s.about("ada", false), []string{"second", "third"})
	s.must(s.Revise(t.Context(), second, "something else", nil))
	s.same("after an edit", s.about("ada", false), []string{"third"})
	require.Value(s.Clear(t.Context(), "group"))(s.t)
	s.same("after a clear", s.about("ada", false), []string(nil))
}
