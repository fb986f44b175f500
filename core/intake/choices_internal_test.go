package intake

import (
	"context"
	"testing"
	"time"

	"parley/core/access"
	"parley/core/chat"
)

// endingStore has a command and the answer to it, which asks: the answer is stored after the first so many reads.
type endingStore struct {
	ChoiceStore
	asker  chat.Run
	unread int
	later  []chat.Memory
}

func (s *endingStore) Recent(_ context.Context, _ chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, _ int) (ms []chat.Memory, err error) {
	if kind != chat.KindCommand {
		return nil, nil
	}
	ms = append(ms, chat.Memory{ID: "command", Author: "ada", At: time.Unix(1, 0)})
	if s.unread--; s.unread < 0 {
		ms = append(ms, chat.Memory{ID: s.asker.Said(), Author: "bot", InReplyTo: "command", At: time.Unix(3, 0)})
	}
	if upTo == 0 {
		ms = append(ms, s.later...)
	}
	return ms, nil
}

// A choice in words counts while the answer that asks is just being stored: it is visible before.
func TestChoiceWhileTheAnswerEnds(t *testing.T) {
	asker := chat.Run{ID: "room#1", Response: 1}
	q := chat.Question{Run: asker.ID, Room: "room", Asked: time.Unix(2, 0)}
	for name, c := range map[string]struct {
		unread int
		later  []chat.Memory
		want   bool
	}{
		"stored before":            {0, nil, true},
		"stored between two reads": {1, nil, true},
		"not stored":               {9, nil, true},
		"another message is newer": {0, []chat.Memory{{ID: "later", Author: "ada", At: time.Unix(4, 0)}}, false},
		"another one, not stored":  {9, []chat.Memory{{ID: "later", Author: "ada", At: time.Unix(4, 0)}}, false},
	} {
		cs := &Choices{Store: &endingStore{asker: asker, unread: c.unread, later: c.later}, Admission: &Admission{Agent: chat.Agent{ID: "bot"}}}
		got, err := cs.isNewest(t.Context(), q, asker)
		if err != nil || got != c.want {
			t.Errorf("%s: the question is the newest message: %v, %v; want %v", name, got, err, c.want)
		}
	}
}

// cardStore has a closed request that a message of a long talk replies to.
type cardStore struct {
	ChoiceStore
	since int // turns
}

func (s cardStore) RunShowing(_ context.Context, _ chat.RoomID, _ bool, message string, turns int) (chat.Run, error) {
	if message != "card" || turns < s.since {
		return chat.Run{}, chat.ErrNotFound
	}
	return chat.Run{ID: "room#1"}, nil
}

func (s cardStore) QuestionOf(_ context.Context, run chat.RunID) (chat.Question, error) {
	if run == "" {
		return chat.Question{}, chat.ErrNotFound
	}
	return chat.Question{Run: run, Approval: true, Options: []string{"Once", "Deny"}}, nil
}

func (s cardStore) Known(_ context.Context, m chat.Memory) (chat.Accepted, error) {
	if m.ID == "again" {
		return chat.Accepted{Memory: m.ID, Duplicate: true}, nil
	}
	return chat.Accepted{}, chat.ErrNotFound
}

// A reply to a request that has closed is for no other person and, if it could decide the request, not for the agent, even if many messages have passed since.
func TestReplyToAnOldCard(t *testing.T) {
	told := 0
	cs := &Choices{Store: cardStore{since: 300}, Pairing: &access.Pairing{Tell: func(context.Context, chat.Notice) error { told++; return nil }}}
	for name, c := range map[string]struct {
		id, to chat.MemoryID
		text   string
		talks  bool
		want   bool
		tells  int
	}{
		"the card":                      {"m", "card", "No", true, true, 1},
		"the card, with its chat":       {"m", "42/card", "No", true, true, 1},
		"another message":               {"m", "other", "Deny", true, false, 0},
		"no reply":                      {"m", "", "Deny", true, false, 0},
		"outside of a talk":             {"m", "card", "No", false, false, 0},
		"outside of a talk, a refusal":  {"m", "card", "Deny: too dear", false, true, 1},
		"outside of a talk, an edit":    {"m", "card", `Edit: {"a": 1}`, false, true, 1},
		"the decision, delivered again": {"again", "card", "Deny", false, true, 0},
	} {
		told = 0
		m := chat.Message{Memory: chat.Memory{ID: c.id, Room: "room", InReplyTo: c.to, Text: c.text}, Place: chat.Room{Kind: chat.Direct}}
		if _, ok, err := cs.tooLate(t.Context(), m, c.talks); ok != c.want || err != nil || told != c.tells {
			t.Errorf("%s: it is too late: %v, %v, and the author was told %d times; want %v, %d", name, ok, err, told, c.want, c.tells)
		}
	}
}

// wordsStore counts the choices that are looked up.
type wordsStore struct {
	ChoiceStore
	chosen int
}

func (s *wordsStore) Run(context.Context, chat.RunID) (chat.Run, error) {
	return chat.Run{ID: "room#1", Response: 1, Shown: []chat.Shown{{ID: "card"}}}, nil
}

func (s *wordsStore) Recent(context.Context, chat.RoomID, chat.MemoryKind, chat.ResponseID, int) ([]chat.Memory, error) {
	return nil, nil
}

func (s *wordsStore) Question(context.Context, string) (chat.Question, error) {
	s.chosen++
	return chat.Question{}, chat.ErrNotFound
}

// Words of a user's own answer a request for approval only if they refuse it, or if it takes replies and they are one.
func TestWordsForAnApproval(t *testing.T) {
	for _, c := range []struct {
		text    string
		replies bool
		to      chat.MemoryID
		want    bool
	}{
		{"a new text", true, "card", true}, {"a new text", true, "", false}, {"a new text", false, "card", false}, {"a new text", false, "", false},
		{"Deny: too dear", false, "", true}, {"Deny: too dear", false, "card", true}, {"Deny: too dear", false, "another", false},
		{`Edit: {"a": 1}`, false, "", true}, {`Edit: {"a": 1}`, false, "card", true}, {`Edit: {"a": 1}`, false, "another", false},
	} {
		store := &wordsStore{}
		cs := &Choices{Store: store, Admission: &Admission{}, Pairing: &access.Pairing{Tell: func(context.Context, chat.Notice) error { return nil }}}
		q := chat.Question{ID: "q", Run: "room#1", Options: []string{"Allow", "Deny"}, Other: "Why?", Approval: true, Replies: c.replies, Edit: &chat.Edit{}}
		m := chat.Message{Memory: chat.Memory{ID: "m", Room: "room", Text: c.text, InReplyTo: c.to}}
		if _, _, err := cs.typed(t.Context(), m, []chat.Question{q}, false); err != nil || (store.chosen == 1) != c.want {
			t.Errorf("%q, a reply to %q, a question for replies: %v: it was a choice %d times, %v; want %v", c.text, c.to, c.replies, store.chosen, err, c.want)
		}
	}
}
