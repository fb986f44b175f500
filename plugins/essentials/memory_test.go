package essentials

import (
	"errors"
	"strings"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

// replies returns the reply to a command, which replies to a message if that is not empty.
func (w *harness) replies(in chat.Room, author chat.EntityID, command string, to chat.MemoryID) string {
	w.Helper()
	id := chat.MemoryID(string(in.ID) + "/" + command + "/" + time.Now().Format(time.RFC3339))
	acc, err := w.rt.ProcessMessage(w.Context(), chat.Message{
		Memory: chat.Memory{ID: id, Room: in.ID, Author: author, Name: string(author), Text: command, InReplyTo: to, At: time.Now()},
		Place:  in, Address: chat.Address{Connector: "fake", Room: in.ID, ReplyTo: id}, Addressed: true,
	})
	w.must(err)
	time.Sleep(time.Minute)
	m := require.Value(w.store.Memory(w.Context(), chat.MemoryID(acc.Run)))(w)
	return m.Text
}

// notes stores a fact about bob in a room, from a message.
func (w *harness) notes(in chat.Room, about chat.EntityID, text string, from chat.MemoryID) {
	w.Helper()
	w.must(w.store.SaveNote(w.Context(), chat.RoomNote{Room: in.ID, Kind: chat.FactNote, Key: text, About: about, Text: text, First: from, Last: from, At: time.Now()}))
}

// /memory lists what is noted about who asks, in that room; /forget forgets that and nothing else.
func TestMemoryAndForget(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.send(tea, "ada", "hello")
		w.send(bob, "bob", "hello")
		first := w.send(tea, "bob", "I like Assam")
		w.notes(tea, "bob", "bob: likes Assam", first.Memory)
		w.notes(tea, "bob", "bob: has a cat", "")
		w.notes(tea, "ada", "ada: likes Sencha", "")
		w.notes(tea, "", "room: meets on Mondays", "")
		w.notes(bob, "bob", "bob: has a secret", "")
		w.wantResult(bob, "bob", "UPDATE_ENTITY", `{"about":"language","value":"French"}`, "Saved")
		list := func(want ...string) {
			t.Helper()
			got := w.replies(tea, "bob", "/memory", "")
			for _, part := range want {
				if !strings.Contains(got, part) {
					t.Errorf("the list lacks %q:\n%s", part, got)
				}
			}
			for _, part := range []string{"Sencha", "Mondays", "secret"} {
				if strings.Contains(got, part) {
					t.Errorf("the list has %q:\n%s", part, got)
				}
			}
			if n := strings.Count(got, "\n"); n != len(want)+2 {
				t.Errorf("the list has %d lines:\n%s", n, got)
			}
		}
		list("1. bob: likes Assam (noted here on ", "2. bob: has a cat", "3. language: French (in all rooms)")
		for command, want := range map[string]string{"/memory cats": "2. bob: has a cat", "/memory liking": "1. bob: likes Assam"} {
			if got := w.replies(tea, "bob", command, ""); !strings.Contains(got, want) || strings.Count(got, "\n") != 3 {
				t.Errorf("%s lists\n%s", command, got)
			}
		}
		if got := w.replies(tea, "bob", "/memory secrets", ""); got != "I have noted nothing with these words. `/memory` lists everything." {
			t.Errorf("/memory secrets says %q; want \"I have noted nothing with these words. `/memory` lists everything.\"", got)
		}
		for command, want := range map[string]string{"/forget 4": "Nothing has this number", "/forget 0": "Nothing has this number", "/forget": "Send `/memory`", "/forget it please": "Send `/memory`"} {
			if got := w.replies(tea, "bob", command, ""); !strings.HasPrefix(got, want) {
				t.Errorf("%s says %q; want it to begin with %q", command, got, want)
			}
		}
		if got := w.replies(tea, "bob", "/forget 2", ""); got != "Forgotten." {
			t.Errorf(`forgetting says %q; want "Forgotten."`, got)
		}
		list("1. bob: likes Assam", "2. language: French")
		if got := w.replies(tea, "bob", "/forget all", ""); got != "Forgotten." {
			t.Errorf(`forgetting all says %q; want "Forgotten."`, got)
		}
		if got := w.replies(tea, "bob", "/memory", ""); !strings.HasPrefix(got, "I have noted nothing about you here.") {
			t.Errorf(`after that the list is %q; want it to begin with "I have noted nothing about you here."`, got)
		}
		for room, who := range map[*chat.Room]chat.EntityID{&tea: "ada", &bob: "bob"} {
			if got := w.replies(*room, who, "/memory", ""); !strings.Contains(got, "1. ") {
				t.Errorf(`%s now reads %q; want it to contain "1. "`, who, got)
			}
		}
	})
}

// /forget as a reply forgets a message of one's own, with its answer and what was noted from it; owners can do that for all.
func TestForgetAMessage(t *testing.T) {
	withHarness(t, func(w *harness) {
		gone := func(id chat.MemoryID) bool {
			_, err := w.store.Memory(w.Context(), id)
			return errors.Is(err, chat.ErrNotFound)
		}
		his, hers := w.send(tea, "bob", "I like Assam"), w.send(tea, "ada", "I like Sencha")
		w.notes(tea, "bob", "bob: likes Assam", his.Memory)
		if got := w.replies(tea, "bob", "/forget", hers.Memory); got != "You can only have your own messages forgotten." || gone(hers.Memory) {
			t.Errorf("forgetting hers says %q", got)
		}
		if got := w.replies(bob, "bob", "/forget", his.Memory); got != "I don't remember that message." || gone(his.Memory) {
			t.Errorf("from another room it says %q", got)
		}
		if got := w.replies(tea, "bob", "/forget", his.Memory); !strings.HasPrefix(got, "Forgotten, ") || !gone(his.Memory) || !gone(chat.MemoryID(his.Run)) {
			t.Errorf("forgetting his says %q", got)
		}
		if got := w.replies(tea, "bob", "/memory", ""); strings.Contains(got, "Assam") {
			t.Errorf(`what was noted from it stays: %q; want it without "Assam"`, got)
		}
		other := w.send(tea, "bob", "I like coffee too")
		if got := w.replies(tea, "ada", "/forget", other.Memory); !strings.HasPrefix(got, "Forgotten, ") || !gone(other.Memory) {
			t.Errorf("the owner reads %q", got)
		}
	})
}
