package sqlite

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"parley/core/chat"
)

// entry is a memory in the order in which a store keeps it.
type entry struct {
	id   chat.MemoryID
	turn chat.ResponseID
}

// A history that grows holds what a new read would find, as far back as it says, and what it has returned never changes.
func TestHistoryIsWhatWouldBeRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stored []entry
		add := func() (chat.Memory, chat.ResponseID) {
			e := entry{chat.MemoryID(fmt.Sprint("m", len(stored))), chat.ResponseID(rapid.IntRange(1, 300).Draw(t, "turn"))}
			stored = append(stored, e)
			slices.SortStableFunc(stored, func(a, b entry) int { return int(a.turn) - int(b.turn) })
			return chat.Memory{ID: e.id, Text: "text"}, e.turn
		}
		for range rapid.IntRange(0, 120).Draw(t, "stored") {
			add()
		}
		limit := rapid.IntRange(0, mostKept).Draw(t, "read")
		h := readFrom(stored, limit)
		var returned, copies [][]chat.Memory
		for range rapid.IntRange(0, 200).Draw(t, "more") {
			h = h.with(add())
			upTo, limit := chat.ResponseID(rapid.IntRange(0, 301).Draw(t, "upTo")), rapid.IntRange(0, mostKept).Draw(t, "limit")
			got, ok := h.last(upTo, limit)
			if !ok {
				continue
			}
			until := slices.DeleteFunc(slices.Clone(stored), func(e entry) bool { return e.turn > upTo })
			want := until[max(0, len(until)-limit):]
			if !slices.EqualFunc(got, want, func(m chat.Memory, e entry) bool { return m.ID == e.id }) {
				t.Fatalf("up to %d, at most %d: %v instead of %v", upTo, limit, got, want)
			}
			returned, copies = append(returned, got), append(copies, slices.Clone(got))
		}
		if !reflect.DeepEqual(returned, copies) {
			t.Error("a slice that was returned earlier has changed; want it untouched")
		}
		if fresh := newHistory(h.all, h.turns, h.whole); fresh.size != h.size {
			t.Errorf("it counts %d bytes instead of %d", h.size, fresh.size)
		}
		if len(h.all) > mostKept+mostKept/4 {
			t.Errorf("it keeps %d", len(h.all))
		}
	})
}

func readFrom(stored []entry, limit int) history {
	var all []chat.Memory
	var turns []chat.ResponseID
	for _, e := range stored[max(0, len(stored)-limit):] {
		all, turns = append(all, chat.Memory{ID: e.id, Text: "text"}), append(turns, e.turn)
	}
	return newHistory(all, turns, len(stored) < limit)
}

// The bound of the cache is only as good as the estimates: each text counts.
func TestEstimatesCountEachText(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for what, c := range map[string]struct{ bytes, texts int }{
		"a message": {newHistory([]chat.Memory{{Text: long, Thought: long, History: []string{long, long}, Quoted: chat.Quoted{Name: long, Text: long},
			Files: []chat.Attachment{{Name: long, Title: long, Description: long, Text: long}}}}, []chat.ResponseID{1}, true).bytes(), 10},
		"two messages": {newHistory([]chat.Memory{{Text: long}, {Text: long}}, []chat.ResponseID{1, 2}, true).bytes(), 2},
		"a room":       {cachedRoom{chat.Room{Name: long, World: chat.WorldID(long), Chats: []string{long, long}, Address: chat.Address{ConnectorData: []byte(long)}}}.bytes(), 5},
		"a person":     {cachedEntity{chat.Entity{Names: []string{long, long}, Details: map[string]string{"a": long, "b": long}}}.bytes(), 4},
		"notes":        {noteList{10, []chat.RoomNote{{Text: long, Key: long}, {Text: long}}}.bytes(), 3},
	} {
		if least := c.texts * len(long); c.bytes < least || c.bytes > 2*least {
			t.Errorf("%s of %d bytes counts as %d", what, least, c.bytes)
		}
	}
}

// After a conversation of any length, a prompt of 64 messages is found without reading.
func TestHistoryIsEnoughForAPrompt(t *testing.T) {
	h, copies := newHistory(nil, nil, true), 0
	for n := range 1000 {
		before := h
		h = h.with(chat.Memory{ID: chat.MemoryID(fmt.Sprint(n))}, chat.ResponseID(n+1))
		if n == 0 || &h.all[0] != &before.all[0] {
			copies++
		}
		if all, ok := h.last(chat.EveryTurn, 64); !ok || len(all) != min(n+1, 64) {
			t.Fatalf("after %d: %d, %v", n+1, len(all), ok)
		}
	}
	if h.whole {
		t.Error("whole is true although older messages exist; want false")
	}
	if copies > 100 {
		t.Errorf("it was copied %d times; want at most 100", copies)
	}
	if _, ok := readFrom(make([]entry, 100), 64).last(chat.EveryTurn, 64); !ok {
		t.Error("the 64 that were read are not enough")
	}
}
