package storagetest

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

func memoryChecks() []storeCheck {
	return []storeCheck{
		{"an answer belongs to the turn of its run", recentInterleaves},
		{"Recent returns nothing later than its turn", recentUpTo},
		{"Recent returns the newest memories, oldest first", recentLimit},
		{"Recent returns the memories of one room", recentRoom},
		{"a memory is returned unchanged", memoryWhole},
		{"the echo of an answer is a duplicate without a run (IN-05)", answerEcho},
		{"results of actions are not part of the conversation", memoryBeside},
		{"an answer replaces an earlier echo (IN-05)", echoFirst},
		{"a message that was only stored is accepted once on request", heardAgain},
		{"a saved room keeps its first Created", saveRoom},
		{"rooms with messages are found by name", roomsNamed},
		{"rooms are found by their chat, the newest first", roomsOfChats},
		{"the direct chat of a user is that of their latest message", roomsDirect},
		{"a room has its latest address", roomAddress},
		{"attention survives saving the room", attention},
		{"text is returned unchanged or refused", exactText},
	}
}

func heardAgain(t *testing.T, s store) {
	in := message("room", 1)
	heard := require.Value(s.Accept(t.Context(), in, chat.JoinRule{NoRun: true}))(s.t)
	s.opened("room", 2)
	in.Text = "edited"
	again := require.Value(s.Accept(t.Context(), in, alone))(s.t)
	s.same("without a request", again, chat.Accepted{Memory: in.ID, Response: heard.Response, Duplicate: true, Altered: true})
	again = require.Value(s.Accept(t.Context(), in, chat.JoinRule{Again: true}))(s.t)
	s.same("on request it has a run of its own", []bool{again.Duplicate, again.Run != "", again.Response > heard.Response}, []bool{false, true, true})
	s.same("the room", s.texts("room", 0, 10), []string{"message 2", "edited"})
	in.Text = "edited once more"
	once := require.Value(s.Accept(t.Context(), in, chat.JoinRule{Again: true}))(s.t)
	s.same("a second time", once, chat.Accepted{Memory: in.ID, Run: again.Run, Response: again.Response, Duplicate: true, Altered: true})
	s.same("the stored text", s.texts("room", 0, 10), []string{"message 2", "edited"})
	s.must(s.Forget(t.Context(), in.ID))
	gone := require.Value(s.Accept(t.Context(), in, chat.JoinRule{Again: true}))(s.t)
	s.same("after it was forgotten", []any{gone.Duplicate, s.texts("room", 0, 10)}, []any{true, []string{"message 2"}})
}

func recentInterleaves(t *testing.T, s store) {
	first := s.start(s.opened("room", 1).ID, "owner")
	second := s.opened("room", 2)
	s.finish(first, answerOf(first, "answer 1"))
	s.same("the prompt of the first run", s.texts("room", 1, 10), []string{"message 1", "answer 1"})
	s.same("the prompt of the second run", s.texts("room", 2, 10), []string{"message 1", "answer 1", "message 2"})
	s.opened("room", 3)
	second = s.start(second.ID, "owner")
	s.finish(second, answerOf(second, "answer 2"))
	s.same("all", s.texts("room", 0, 10), []string{"message 1", "answer 1", "message 2", "answer 2", "message 3"})
	s.same("the newest", s.texts("room", 0, 2), []string{"answer 2", "message 3"})
	m := require.Value(s.Memory(t.Context(), answerOf(first, "").ID))(s.t)
	s.same("the answer", m, answerOf(first, "answer 1"))
}

func recentUpTo(t *testing.T, s store) {
	for n := range 5 {
		s.opened("room", n)
	}
	s.same("up to 3", s.texts("room", 3, 10), []string{"message 0", "message 1", "message 2"})
	s.same("up to 3, but two", s.texts("room", 3, 2), []string{"message 1", "message 2"})
	s.same("up to any", len(s.texts("room", 0, 10)), 5)
	s.same("up to the last there can be", len(s.texts("room", 1<<64-1, 10)), 5)
}

func recentLimit(t *testing.T, s store) {
	for n := range 5 {
		s.opened("room", n)
	}
	s.same("two", s.texts("room", 0, 2), []string{"message 3", "message 4"})
	s.same("five", len(s.texts("room", 0, 5)), 5)
	s.same("none", len(s.texts("room", 0, 0)), 0)
}

func recentRoom(t *testing.T, s store) {
	s.opened("a", 1)
	s.opened("b", 2)
	s.same("the memories of a", s.texts("a", 0, 10), []string{"message 1"})
	s.same("memories of an unknown room", s.texts("c", 0, 10), []string{})
}

func memoryWhole(t *testing.T, s store) {
	in := message("room", 1)
	in.Files = []chat.Attachment{{Ref: "ref", Name: "a.ogg", Type: "audio/ogg", Size: 7, Voice: true, Title: "t", Description: "d", Text: "hm"}}
	in.Quoted = chat.Quoted{Name: "Bob", Text: "said so"}
	in.InReplyTo, in.At = "room/0", time.Date(2026, 2, 3, 4, 5, 6, 789, time.FixedZone("", 3600))
	r := s.start(s.accept(in, alone).Run, "owner")
	out := answerOf(r, "it was cut …")
	out.InReplyTo, out.History, out.Interrupted, out.Failure = in.ID, []string{"looking", "reading"}, true, llm.ProviderIssue
	out.Thought, out.Actions, out.Providers = "why", []string{"REPLY", "ROLL"}, []string{"TIME"}
	out.Calls = []answer.PastCall{
		{ID: "c1", Tool: answer.Tool{Name: "ROLL", Stage: answer.StageEnd, Parameters: `{"sides":6}`, CompactParams: "6",
			Result: "4\x7f<&>", ShortResult: "a 4", Success: true}, Files: []llm.PastFile{{N: 1, Name: "a.txt", Type: "text/plain", Size: 3}}},
		{ID: "c2", Tool: answer.Tool{Name: "PLAY", Stage: answer.StageEnd, Error: "It failed."}, At: 7},
	}
	s.finish(r, out)
	all, err := s.Recent(t.Context(), "room", chat.Said, 0, 10)
	s.must(err)
	s.same("the memories", all, []chat.Memory{in.Memory, out})
	for _, want := range all {
		m := require.Value(s.Memory(t.Context(), want.ID))(s.t)
		s.same("the memory", m, want)
	}
	_, err = s.Memory(t.Context(), "nothing")
	s.fails(err, chat.ErrNotFound)

	timeless := message("room", 2)
	timeless.At = time.Time{}
	s.accept(timeless, alone)
	m, err := s.Memory(t.Context(), timeless.ID)
	s.must(err)
	s.same("a memory without a time", m, timeless.Memory)
}

func memoryBeside(t *testing.T, s store) {
	question := message("room", 1)
	r := s.start(s.accept(question, alone).Run, "owner")
	found := chat.Memory{ID: "found", Room: "room", Kind: chat.ActionResult, Author: "agent", Text: "42", InReplyTo: question.ID}
	for range 2 {
		s.must(s.Remember(t.Context(), r.ID, found))
	}
	s.fails(s.Remember(t.Context(), "nowhere#1", chat.Memory{ID: "x", Room: "room"}), chat.ErrNotFound)
	s.finish(r, answerOf(r, "the answer"))
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1", "the answer"})
	beside, err := s.Recent(t.Context(), "room", chat.ActionResult, 0, 10)
	s.must(err)
	s.same("beside it", beside, []chat.Memory{found})
	s.must(s.Forget(t.Context(), question.ID))
	_, err = s.Memory(t.Context(), found.ID)
	s.fails(err, chat.ErrNotFound)
	s.fails(s.Remember(t.Context(), r.ID, found), chat.ErrNotFound)
}

func answerEcho(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	out := answerOf(r, "the answer")
	s.finish(r, out)
	echo := message("room", 2)
	echo.Memory = out
	s.same("accepted", s.accept(echo, alone), chat.Accepted{Memory: out.ID, Response: r.Response, Duplicate: true})
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1", "the answer"})
}

func echoFirst(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.opened("room", 2)
	echo := message("room", 3)
	echo.Memory = answerOf(r, "the ans")
	s.accept(echo, chat.JoinRule{NoRun: true})
	s.finish(r, answerOf(r, "the answer"))
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1", "the answer", "message 2"})
}

func saveRoom(t *testing.T, s store) {
	_, err := s.Room(t.Context(), "room")
	s.fails(err, chat.ErrNotFound)
	want := chat.Room{ID: "room", World: "world", Kind: chat.Forum, Connector: "fake", Name: "a name", Chats: []string{"1", "2"}, Created: time.Now()}
	s.must(s.SaveRoom(t.Context(), want))
	time.Sleep(time.Hour)
	again := chat.Room{ID: "room", Kind: chat.Thread, Connector: "other", Created: time.Now()}
	s.must(s.SaveRoom(t.Context(), again))
	again.Created = want.Created
	room := require.Value(s.Room(t.Context(), "room"))(s.t)
	s.same("the room", room, again)
	s.same("the first turn", s.accept(message("room", 1), alone).Response, chat.ResponseID(1))
	s.must(s.SaveRoom(t.Context(), want))
	s.same("the second turn", s.accept(message("room", 2), alone).Response, chat.ResponseID(2))
}

func roomsDirect(t *testing.T, s store) {
	wants := func(author chat.EntityID, want chat.RoomID) {
		t.Helper()
		r, err := s.DirectRoom(t.Context(), author)
		if want == "" {
			s.fails(err, chat.ErrNotFound)
			return
		}
		s.must(err)
		s.same("the direct chat of "+string(author), r.ID, want)
	}
	say := func(in chat.RoomID, kind chat.RoomKind, n int) chat.Message {
		m := message(in, n)
		m.Place.Kind = kind
		s.accept(m, alone)
		return m
	}
	wants("ada", "")
	say("group", chat.Group, 1)
	wants("ada", "")
	say("one", chat.Direct, 2)
	two := say("two", chat.Direct, 3)
	say("group", chat.Group, 4)
	wants("ada", "two")
	say("one", chat.Direct, 5)
	wants("ada", "one")
	wants("bob", "")
	say("two", chat.Direct, 6)
	two.Place.Gone = true
	s.must(s.SaveRoom(t.Context(), two.Place))
	wants("ada", "one")
}

func roomsOfChats(t *testing.T, s store) {
	save := func(id chat.RoomID, connector string, created time.Time, gone bool, chats ...string) {
		t.Helper()
		s.must(s.SaveRoom(t.Context(), chat.Room{ID: id, Kind: chat.Group, Connector: connector, Chats: chats, Created: created, Gone: gone}))
	}
	now := time.Now()
	save("none", "fake", now, false)
	save("old", "fake", now, false, "1")
	save("new", "fake", now.Add(time.Hour), false, "1", "2")
	save("gone", "fake", now.Add(2*time.Hour), true, "1")
	save("other", "other", now.Add(2*time.Hour), false, "1")
	for id, want := range map[string]chat.RoomID{"1": "new", "2": "", "": "", "%": ""} {
		r, err := s.ChatRoom(t.Context(), "fake", id)
		if want == "" {
			s.fails(err, chat.ErrNotFound)
			continue
		}
		s.must(err)
		s.same("the room of the chat "+id, r.ID, want)
	}
}

func roomsNamed(t *testing.T, s store) {
	created := time.Now()
	for i := range 13 {
		s.must(s.SaveRoom(t.Context(), chat.Room{ID: chat.RoomID(fmt.Sprintf("room %02d", i)), Name: "Many", Created: created.Add(time.Duration(-i) * time.Hour)}))
	}
	s.must(s.SaveRoom(t.Context(), chat.Room{ID: "nameless", Created: created}))
	in := message("room 03", 1)
	in.Place.Name, in.Place.Created = "Tea's 100%", created
	s.accept(in, alone)
	wants := func(name string, author chat.EntityID, want ...chat.RoomID) {
		t.Helper()
		found := require.Value(s.RoomsNamed(t.Context(), name, author))(s.t)
		var ids []chat.RoomID
		for _, r := range found {
			ids = append(ids, r.ID)
		}
		s.same("the rooms "+name, ids, want)
	}
	wants("tea's 100%", "", "room 03")
	wants("TEA'S 100%", "ada", "room 03")
	wants("room 03", "ada", "room 03")
	wants("Room 03", "ada")
	wants("tea's 100%", "bob")
	wants("tea%", "ada")
	wants("", "")
	wants("nameless", "ada")
	wants("nameless", "", "nameless")
	wants("many", "ada")
	in = message("room 04", 2)
	in.Place.World, in.Place.Name = "w", "Cellar"
	s.accept(in, alone)
	wants("cellar", "ada", "room 04")
	require.Value(s.SaveMember(t.Context(), chat.Member{World: "w", Entity: "ada"}))(s.t)
	require.Value(s.SaveMember(t.Context(), chat.Member{World: "w", Entity: "ada", Gone: true}))(s.t)
	wants("cellar", "ada")
	wants("cellar", "", "room 04")
	in.Place.Gone = true
	s.must(s.SaveRoom(t.Context(), in.Place))
	wants("cellar", "")
	wants("many", "", "room 12", "room 11", "room 10", "room 09", "room 08", "room 07", "room 06", "room 05", "room 02", "room 01")
}

// A room's address is that of its latest message, with nothing to reply to.
func roomAddress(t *testing.T, s store) {
	wants := func(want chat.Address) {
		t.Helper()
		room := require.Value(s.Room(t.Context(), "room"))(s.t)
		s.same("the address", room.Address, want)
	}
	s.must(s.SaveRoom(t.Context(), chat.Room{ID: "room", Kind: chat.Group}))
	wants(chat.Address{})
	first, second, unreached := message("room", 1), message("room", 2), message("room", 3)
	second.Address.ConnectorData, unreached.Address = []byte("elsewhere"), chat.Address{}
	for _, c := range []struct {
		in   chat.Message
		j    chat.JoinRule
		want []byte
	}{
		{first, alone, first.Address.ConnectorData}, {second, chat.JoinRule{NoRun: true}, second.Address.ConnectorData}, {first, alone, second.Address.ConnectorData},
		{unreached, alone, second.Address.ConnectorData},
	} {
		s.accept(c.in, c.j)
		wants(chat.Address{Connector: "fake", Room: "room", ConnectorData: c.want})
	}
	s.must(s.SaveRoom(t.Context(), chat.Room{ID: "room", Kind: chat.Forum}))
	wants(chat.Address{Connector: "fake", Room: "room", ConnectorData: second.Address.ConnectorData})
	s.must(s.SaveRoom(t.Context(), chat.Room{ID: "room", Kind: chat.Forum, Address: chat.Address{Connector: "fake", ConnectorData: []byte("new")}}))
	wants(chat.Address{Connector: "fake", ConnectorData: []byte("new")})
}

func attention(t *testing.T, s store) {
	wants := func(want chat.Attention) {
		t.Helper()
		got := require.Value(s.Attention(t.Context(), "room"))(s.t)
		s.same("the attention", got, want)
	}
	wants(chat.Normal)
	s.fails(s.SetAttention(t.Context(), "room", chat.Muted), chat.ErrNotFound)
	s.opened("room", 1)
	wants(chat.Normal)
	s.must(s.SetAttention(t.Context(), "room", chat.Muted))
	s.must(s.SaveRoom(t.Context(), chat.Room{ID: "room", Kind: chat.Forum}))
	wants(chat.Muted)
	s.must(s.SetAttention(t.Context(), "room", chat.Normal))
	wants(chat.Normal)
}

// exactText asks for valid UTF-8 as it was given. What not all databases can hold, NUL and other bytes, may be refused,
// but not altered.
func exactText(t *testing.T, s store) {
	texts := []string{
		"", " \t\r\n ", "'; DROP TABLE memories; --", `{"a": "\ufffd"} \x00 %s ?1 :a`, "\ufffd\ufeff\u202e",
		"👩‍👩‍👧‍👦 e\u0301 \U0010ffff", "\x01\x1b\x7f", strings.Repeat("long 🙂\n", 200_000),
		"a\x00b", "\x00", "cut \xf0\x9f", "\xff", "\xed\xa0\x80",
	}
	for n, text := range texts {
		may := strings.ContainsRune(text, 0) || !utf8.ValidString(text)
		id := chat.RoomID(fmt.Sprint("room ", n))
		if err := s.carry(id, text); err != nil && !may {
			t.Errorf("storing %.40q failed: %v", text, err)
		}
	}
}

// carry brings text through every method that takes any. It returns the first refusal.
func (s store) carry(id chat.RoomID, text string) error {
	s.t.Helper()
	ctx := s.t.Context()
	in := message(id, 1)
	in.Text, in.Name, in.Place.Name, in.Address.ConnectorData = text, text, text, []byte("\x00\xff")
	acc, err := s.Accept(ctx, in, alone)
	if err != nil {
		return err
	}
	m, err := s.Memory(ctx, in.ID)
	s.must(err)
	s.same("the message", m, in.Memory)

	r := s.start(acc.Run, "owner")
	s.same("the address", r.Address, in.Address)
	r.Text, r.Acted, r.Verdict = text, text, &chat.Verdict{Outcome: done, Text: text, History: []string{text, text}, Calls: ended(text)}
	if err := s.Note(ctx, r.ID, r.Epoch, chat.Note{Text: r.Text, Acted: r.Acted, Verdict: r.Verdict}); err != nil {
		return err
	}
	s.same("the run", s.runOf(acc), r)

	out := answerOf(r, text)
	out.History, out.Calls = []string{"first", text}, ended(text)
	if err := s.Finish(ctx, r.ID, r.Epoch, done, out); err != nil {
		return err
	}
	m, err = s.Memory(ctx, out.ID)
	s.must(err)
	s.same("the answer", m, out)
	return nil
}

// ended is a call that came to text.
func ended(text string) []answer.PastCall {
	return []answer.PastCall{{ID: "c", Tool: answer.Tool{Name: "LOOK", Stage: answer.StageEnd, Result: text}, At: len(text)}}
}
