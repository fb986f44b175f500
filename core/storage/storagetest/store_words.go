package storagetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/search"
	"parley/internal/search/searchtest"
)

func wordChecks() []storeCheck {
	return []storeCheck{
		{"indexed messages are found by their words", foundByWords},
		{"the best passages come first, with the answers of their turns", passagesOfTurns},
		{"only earlier turns of the room are found", foundBefore},
		{"of other rooms only direct chats of the person are searched", foundElsewhere},
		{"deleted messages are not found", forgottenWords},
		{"a revised message is found only by its new words", revisedWords},
		{"all words are indexed, in steps", wordsInSteps},
		{"words of every language are found, whatever the question contains", foundInLanguages},
		{"messages with rare words come first among many", foundAmongMany},
		{"questions find their facts among 200 and small talk", foundFacts},
	}
}

// tells stores a message, which opens a run that answers it, unless that is empty.
func (s store) tells(room chat.RoomID, n int, text, answer string) chat.Message {
	s.t.Helper()
	in := message(room, n)
	in.Text = text
	r := s.runOf(s.accept(in, alone))
	if answer != "" {
		s.finish(s.start(r.ID, "o"), answerOf(r, answer))
	}
	return in
}

func (s store) index() {
	s.t.Helper()
	for more := true; more; {
		var err error
		more, err = s.IndexWords(s.t.Context(), 3, time.Time{})
		s.must(err)
	}
}

// finds returns the texts of the passages that question finds before the message n of room.
func (s store) finds(room chat.RoomID, n int, person chat.EntityID, question string) (all [][]string) {
	s.t.Helper()
	found, err := s.FindWords(s.t.Context(), chat.Search{
		Room: room, Before: message(room, n).ID, Person: person, Words: search.Question(question), Limit: 3,
	})
	s.must(err)
	for _, p := range found {
		var texts []string
		for _, m := range p.Messages {
			texts = append(texts, m.Text)
			if m.Room != p.Room {
				s.t.Errorf("a passage of %q has a message of %q; want the same room", p.Room, m.Room)
			}
		}
		all = append(all, texts)
	}
	return all
}

func foundByWords(_ *testing.T, s store) {
	s.tells("room", 1, "My cat is called Miso", "")
	s.tells("room", 2, "and now?", "")
	s.same("before", s.finds("room", 2, "", "cat"), [][]string(nil))
	s.index()
	s.same("found", s.finds("room", 2, "", "What is my CAT's name?"), [][]string{{"My cat is called Miso"}})
	s.same("something else", s.finds("room", 2, "", "the weather in Paris"), [][]string(nil))
	s.same("nothing", s.finds("room", 2, "", ""), [][]string(nil))
}

func passagesOfTurns(_ *testing.T, s store) {
	s.tells("room", 1, "The train to Basel leaves at nine", "From platform four.")
	s.tells("room", 2, "I like trains and the train station", "Fine.")
	s.tells("room", 3, "Basel is nice in spring", "It is.")
	for n := range 4 {
		s.tells("room", 4+n, "Nothing of interest", "No.")
	}
	s.tells("room", 8, "When does the train to Basel leave?", "")
	s.index()
	found := s.finds("room", 8, "", "When does the train to Basel leave?")
	if len(found) != 3 {
		s.t.Fatalf("found %q; want three passages", found)
	}
	s.same("the best", found[0], []string{"The train to Basel leaves at nine", "From platform four."})
}

func foundBefore(_ *testing.T, s store) {
	for n := range 4 {
		s.tells("room", n+1, fmt.Sprintf("the number %d of all", n+1), "")
	}
	s.index()
	s.same("before the third", s.finds("room", 3, "", "number"), [][]string{{"the number 2 of all"}, {"the number 1 of all"}})
	s.same("before the first", s.finds("room", 1, "", "number"), [][]string(nil))
	s.same("before one that is not there", s.finds("room", 9, "", "number"), [][]string(nil))
}

func foundElsewhere(_ *testing.T, s store) {
	say := func(room chat.RoomID, kind chat.RoomKind, author chat.EntityID, text string) {
		in := message(room, 1)
		in.Place.Kind, in.Author, in.Text = kind, author, text
		s.accept(in, alone)
	}
	say("here", chat.Direct, "ada", "hello")
	say("direct", chat.Direct, "ada", "the secret of the direct chat")
	say("of another", chat.Direct, "bob", "the secret of Bob")
	say("group", chat.Group, "ada", "the secret of the group")
	say("page", chat.API, "ada", "the secret of the page")
	s.index()
	s.same("of the person", s.finds("here", 1, "ada", "secret"), [][]string{{"the secret of the direct chat"}})
	s.same("of no one", s.finds("here", 1, "", "secret"), [][]string(nil))
	s.same("of the agent", s.finds("here", 1, "agent", "secret"), [][]string(nil))
	left := message("direct", 1).Place
	left.Kind, left.Gone = chat.Direct, true
	s.must(s.SaveRoom(s.t.Context(), left))
	s.same("of a room that is gone", s.finds("here", 1, "ada", "secret"), [][]string(nil))
}

func forgottenWords(_ *testing.T, s store) {
	s.tells("room", 1, "a unicorn", "a unicorn, yes")
	s.tells("room", 2, "the last unicorn", "")
	s.tells("other", 1, "the unicorn of others", "")
	s.index()
	s.must(s.Forget(s.t.Context(), message("room", 1).ID))
	s.must(s.Forget(s.t.Context(), message("room", 2).ID))
	s.tells("room", 3, "one more unicorn", "")
	s.tells("room", 4, "where?", "")
	s.index()
	s.same("the rest", s.finds("room", 4, "", "unicorn"), [][]string{{"one more unicorn"}})
	require.Value(s.Clear(s.t.Context(), "room"))(s.t)
	s.tells("room", 5, "where now?", "")
	s.tells("other", 2, "and here?", "")
	s.index()
	s.same("after Clear", s.finds("room", 5, "", "unicorn"), [][]string(nil))
	s.same("of another room", s.finds("other", 2, "", "unicorn"), [][]string{{"the unicorn of others"}})
}

func revisedWords(_ *testing.T, s store) {
	for n := range 2 {
		s.tells("room", 1+n, "a walrus", "")
		s.tells("room", 3+n, "where?", "")
		if n == 1 {
			s.index()
		}
		s.must(s.Revise(s.t.Context(), message("room", 1+n).ID, "a penguin", []chat.Attachment{{Name: "x", Text: "with a scarf"}}))
		s.index()
	}
	s.same("the old words", s.finds("room", 4, "", "walrus"), [][]string(nil))
	s.same("the new words", s.finds("room", 4, "", "penguin"), [][]string{{"a penguin"}, {"a penguin"}})
	s.same("the words of a file", s.finds("room", 4, "", "scarf"), [][]string{{"a penguin"}, {"a penguin"}})
}

func wordsInSteps(_ *testing.T, s store) {
	for n := range 5 {
		s.tells("room", n+1, "an apple", "")
	}
	for i, want := range []bool{true, true, false, false} {
		more := require.Value(s.IndexWords(s.t.Context(), 2, time.Time{}))(s.t)
		s.same(fmt.Sprintf("more after step %d", i), more, want)
	}
	s.tells("room", 6, "which?", "")
	s.index()
	if found := s.finds("room", 6, "", "apple"); len(found) != 3 {
		s.t.Errorf("found %q; want three passages", found)
	}
}

func foundInLanguages(_ *testing.T, s store) {
	texts := []string{"Le café d'Élodie ferme à huit heures", "Мой кот любит ёлку", "私の猫の名前はタマです", "Das Haus liegt an der Straße", "क्या हाल है", "NOT OR AND"}
	for n, text := range texts {
		s.tells("room", n+1, text, "")
	}
	s.tells("room", 9, "?", "")
	s.index()
	for n, question := range []string{"elodie CAFE", "елку", "猫の名前は?", "Straße", "हाल", `or" NOT(and) * ' | & ! : ( \`} {
		found := s.finds("room", 9, "", question)
		if len(found) != 1 || found[0][0] != texts[n] {
			s.t.Errorf("%q finds %q; want %q", question, found, texts[n])
		}
	}
}

// hears stores a message that opens no run.
func (s store) hears(room chat.RoomID, n int, text string) {
	in := message(room, n)
	in.Text = text
	if _, err := s.Accept(s.t.Context(), in, chat.JoinRule{NoRun: true}); err != nil {
		s.t.Error(err)
	}
}

// indexAll indexes many messages.
func (s store) indexAll() {
	s.t.Helper()
	for more := true; more; {
		var err error
		more, err = s.IndexWords(s.t.Context(), 100, time.Time{})
		s.must(err)
	}
}

// foundAmongMany has more messages than a store compares word by word.
func foundAmongMany(_ *testing.T, s store) {
	const many = 600
	text := func(n int) string {
		switch n {
		case 20:
			return "the zeppelin of the party"
		case 30:
			return "a zeppelin, and nothing else of what was asked, but many other things"
		case many - 3: // not earlier than the question
			return "the party has a zeppelin"
		}
		return fmt.Sprintf("the party number %d", n)
	}
	var group sync.WaitGroup
	for n := range many - 10 {
		group.Go(func() { s.hears("room", n, text(n)) })
	}
	group.Wait()
	for n := many - 10; n < many; n++ {
		s.hears("room", n, text(n))
	}
	s.hears("other", 1, "the zeppelin party of others")
	s.indexAll()
	found := s.finds("room", many-5, "", "Which party has a zeppelin?")
	s.same("found", found, [][]string{{text(20)}, {text(30)}, {text(many - 6)}})
	s.must(s.Forget(s.t.Context(), message("room", 20).ID))
	found = s.finds("room", many-5, "", "Which party has a zeppelin?")
	s.same("without what was forgotten", found, [][]string{{text(30)}, {text(many - 6)}, {text(many - 7)}})
}

// foundFacts measures what a search in a store finds. The gate of internal/search measures the ranking alone.
func foundFacts(_ *testing.T, s store) {
	const wanted, first = 95, 5
	texts := append(searchtest.Facts(), searchtest.SmallTalk()...)
	var group sync.WaitGroup
	for n, text := range texts {
		group.Go(func() { s.hears("room", n, text) })
	}
	group.Wait()
	s.hears("room", len(texts), "?")
	s.indexAll()
	hits, questions := 0, searchtest.Questions()
	for _, q := range questions {
		found, err := s.FindWords(s.t.Context(), chat.Search{
			Room: "room", Before: message("room", len(texts)).ID, Words: search.Question(q.Text), Limit: first,
		})
		s.must(err)
		if slices.ContainsFunc(found, func(p chat.Passage) bool { return p.Messages[0].Text == texts[q.Fact] }) {
			hits++
		}
	}
	if len(questions) != 100 || hits < wanted {
		s.t.Errorf("%d of %d questions find their fact; want at least %d", hits, len(questions), wanted)
	}
}
