package storagetest

import (
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

func vectorChecks() []storeCheck {
	return []storeCheck{
		{"messages are found by their vectors", foundByVectors},
		{"vectors and words are searched in the same rooms", vectorsElsewhere},
		{"a deleted message loses its vector and a revised one waits for a new one", forgottenVectors},
		{"messages with a vector of another model or length wait for a new one", otherVectors},
		{"earlier messages get vectors only with a backfill", backfilled},
		{"messages from before a time get no vectors without a backfill", indexedLate},
		{"a message revised before it was indexed waits for a vector of its new text", revisedBeforeIndex},
		{"released messages can be embedded at once", releasedVectors},
	}
}

// embed gives the messages that wait for a vector the one of their text, and returns how many there were.
func (s store) embed(model string, vectors map[string][]float32) (n int) {
	s.t.Helper()
	all := require.Value(s.Unembedded(s.t.Context(), model, 100))(s.t)
	var save []chat.Vector
	for _, u := range all {
		save = append(save, chat.Vector{Ticket: u.Ticket, Vector: vectors[u.Text]})
	}
	s.must(s.SaveVectors(s.t.Context(), model, save))
	return len(all)
}

// always is before each message.
var always = time.Unix(0, 0)

func (s store) indexWithVectors() {
	s.t.Helper()
	for more := true; more; {
		var err error
		more, err = s.IndexWords(s.t.Context(), 3, always)
		s.must(err)
	}
}

// near returns the first texts of the passages near to v before the message n of room.
func (s store) near(room chat.RoomID, n int, person chat.EntityID, model string, v ...float32) (texts []string) {
	s.t.Helper()
	found, err := s.FindVectors(s.t.Context(), chat.Search{Room: room, Before: message(room, n).ID, Person: person, Model: model, Vector: v, Limit: 3})
	s.must(err)
	for _, p := range found {
		texts = append(texts, p.Messages[0].Text)
	}
	return texts
}

var spots = map[string][]float32{"east": {1, 0}, "north": {0, 5}, "northeast": {2, 2}, "west": {-1, 0}, "nowhere": {0, 0}}

func foundByVectors(_ *testing.T, s store) {
	for n, text := range []string{"east", "north", "northeast", "west", "nowhere", "unknown"} {
		s.tells("room", n+1, text, "")
	}
	s.tells("room", 7, "?", "")
	s.same("before the index", s.embed("m", spots), 0)
	s.indexWithVectors()
	s.same("waiting", s.embed("m", spots), 6) // the question has no words
	s.same("waiting then", s.embed("m", spots), 0)
	s.same("near the north", s.near("room", 7, "", "m", 0.1, 1), []string{"north", "northeast"})
	s.same("before the second", s.near("room", 2, "", "m", 1, 1), []string{"east"})
	s.same("before one that is not there", s.near("room", 9, "", "m", 1, 1), []string(nil))
	s.same("near nothing", s.near("room", 7, "", "m", 0, 0), []string(nil))
	s.same("of no model", s.near("room", 7, "", "", 1, 1), []string(nil))
}

func vectorsElsewhere(_ *testing.T, s store) {
	for room, who := range map[chat.RoomID]chat.EntityID{"here": "ada", "direct": "ada", "of another": "bob"} {
		in := message(room, 1)
		in.Place.Kind, in.Author, in.Text = chat.Direct, who, "east"
		s.accept(in, alone)
	}
	s.tells("group", 1, "east", "")
	s.indexWithVectors()
	s.embed("m", spots)
	found, err := s.FindVectors(s.t.Context(), chat.Search{Room: "here", Before: message("here", 1).ID, Person: "ada", Model: "m", Vector: []float32{1, 0}, Limit: 3})
	s.must(err)
	if len(found) != 1 || found[0].Room != "direct" {
		s.t.Errorf("found %+v; want the message of the direct chat", found)
	}
}

func forgottenVectors(_ *testing.T, s store) {
	for n, text := range []string{"east", "north", "northeast", "west"} {
		s.tells("room", n+1, text, "")
	}
	s.indexWithVectors()
	s.embed("m", spots)
	s.must(s.Forget(s.t.Context(), message("room", 1).ID))
	s.must(s.Revise(s.t.Context(), message("room", 3).ID, "west", nil))
	s.same("the memories", s.near("room", 4, "", "m", 1, 1), []string{"north"})

	s.must(s.Revise(s.t.Context(), message("room", 2).ID, "northeast", nil))
	old := require.Value(s.Unembedded(s.t.Context(), "m", 1))(s.t)
	s.same("waiting", len(old), 1)
	s.must(s.Revise(s.t.Context(), old[0].ID, "east", nil))
	s.must(s.SaveVectors(s.t.Context(), "m", []chat.Vector{{Ticket: old[0].Ticket, Vector: []float32{0, 1}}}))
	s.same("the vector of an old text", s.near("room", 4, "", "m", 0, 1), []string(nil))
	s.embed("m", spots)
	require.Value(s.Clear(s.t.Context(), "room"))(s.t)
	s.tells("room", 5, "north", "")
	s.same("after Clear", s.near("room", 5, "", "m", 1, 0), []string(nil))
}

func otherVectors(_ *testing.T, s store) {
	s.tells("room", 1, "east", "")
	s.tells("room", 2, "north", "")
	s.tells("room", 3, "?", "")
	s.indexWithVectors()
	s.embed("m", spots)
	s.same("of another model", s.near("room", 3, "", "n", 1, 0), []string(nil))
	size := func(model string, longest int) []int {
		s.t.Helper()
		messages, characters, err := s.WaitingSize(s.t.Context(), model, longest)
		s.must(err)
		return []int{messages, characters}
	}
	s.same("to embed", size("m", 100), []int{0, 0})
	s.same("to embed for it", size("n", 100), []int{2, 9})
	s.same("to embed for it, cut", size("n", 4), []int{2, 8})
	s.same("waiting for it", s.embed("n", spots), 2)
	s.same("of the new model", s.near("room", 3, "", "n", 1, 0), []string{"east"})
	s.same("of another length", s.near("room", 3, "", "n", 1, 0, 0), []string(nil))
	long := map[string][]float32{"east": {1, 0, 0}, "north": {0, 1, 0}}
	s.same("waiting for that", s.embed("n", long), 2)
	s.same("of the new length", s.near("room", 3, "", "n", 1, 0, 0), []string{"east"})
}

func backfilled(_ *testing.T, s store) {
	s.tells("room", 1, "east", "")
	s.tells("room", 2, "north", "")
	s.tells("room", 3, "?", "")
	s.index()
	s.same("waiting", s.embed("m", spots), 0)
	size := func(longest int) []int {
		s.t.Helper()
		messages, characters, err := s.BackfillSize(s.t.Context(), longest)
		s.must(err)
		return []int{messages, characters}
	}
	s.same("the size", size(100), []int{3, 10})
	s.same("the size, cut", size(4), []int{3, 9})
	s.must(s.Revise(s.t.Context(), message("room", 3).ID, "?", []chat.Attachment{{Name: "n", Title: "tü", Description: "des", Text: "text"}, {Name: "x"}}))
	s.same("the size with files", size(100), []int{3, 19})
	s.must(s.Revise(s.t.Context(), message("room", 3).ID, "?", nil))
	for _, want := range []bool{true, true, false} {
		more := require.Value(s.Backfill(s.t.Context(), 1))(s.t)
		s.same("more", more, want)
	}
	s.same("waiting then", s.embed("m", spots), 2)
	s.same("found", s.near("room", 3, "", "m", 1, 0), []string{"east"})
}

func indexedLate(_ *testing.T, s store) {
	old := message("room", 1)
	old.Text, old.At = "east", time.Now().Add(-time.Hour)
	s.accept(old, alone)
	s.tells("room", 2, "north", "")
	s.tells("room", 3, "?", "")
	require.Value(s.IndexWords(s.t.Context(), 10, time.Now().Add(-time.Minute)))(s.t)
	s.same("waiting", s.embed("m", spots), 1)
	s.same("by words", s.finds("room", 3, "", "east"), [][]string{{"east"}})
	require.Value(s.Backfill(s.t.Context(), 10))(s.t)
	s.same("waiting after a backfill", s.embed("m", spots), 1)
}

func revisedBeforeIndex(_ *testing.T, s store) {
	s.tells("room", 1, "west", "")
	s.tells("room", 2, "?", "")
	s.must(s.Revise(s.t.Context(), message("room", 1).ID, "east", nil))
	s.indexWithVectors()
	s.same("waiting", s.embed("m", spots), 1)
	s.same("found", s.near("room", 2, "", "m", 1, 0), []string{"east"})
	s.same("by words", s.finds("room", 2, "", "west east"), [][]string{{"east"}})
}

func releasedVectors(_ *testing.T, s store) {
	s.tells("room", 1, "east", "")
	s.tells("room", 2, "north", "")
	s.indexWithVectors()
	taken := require.Value(s.Unembedded(s.t.Context(), "m", 10))(s.t)
	s.same("waiting", len(taken), 2)
	s.must(s.ReleaseUnembedded(s.t.Context(), []chat.Ticket{taken[0].Ticket, taken[1].Ticket}))
	s.same("waiting again", s.embed("m", spots), 2)
	s.same("waiting then", s.embed("m", spots), 0)
	s.must(s.ReleaseUnembedded(s.t.Context(), []chat.Ticket{taken[0].Ticket}))
	s.same("after a late release", s.embed("m", spots), 0)
}
