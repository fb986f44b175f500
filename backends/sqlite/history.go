package sqlite

import (
	"reflect"
	"slices"
	"sort"
	"unsafe"

	"parley/core/chat"
)

// history is the newest memories of one kind in a room, oldest first. Like all values of the cache it never changes: with a memory more, it is
// another one.
type history struct {
	all   []chat.Memory
	turns []chat.ResponseID // of each
	whole bool              // there are no older ones
	size  int               // bytes that the memories point to
}

// newHistory returns the history of the memories read: all of a room, or the newest.
func newHistory(all []chat.Memory, turns []chat.ResponseID, whole bool) history {
	h := history{all: all, turns: turns, whole: whole}
	for _, m := range all {
		h.size += bytesOf(m)
	}
	return h
}

// mostKept is the maximum number of memories of a history. Prompts show 64, up to a turn that later messages can
// follow.
const mostKept = 96

// last returns the last limit memories whose turn is at most upTo. ok reports whether they are all known.
func (h history) last(upTo chat.ResponseID, limit int) (all []chat.Memory, ok bool) {
	to := h.after(upTo)
	from := to - limit
	if from < 0 {
		from = 0
		if !h.whole {
			return nil, false
		}
	}
	return h.all[from:to:to], true
}

// after returns the index of the first memory of a later turn.
func (h history) after(turn chat.ResponseID) int {
	n := len(h.turns)
	if n == 0 || h.turns[n-1] <= turn { // nearly always
		return n
	}
	return sort.Search(n, func(i int) bool { return h.turns[i] > turn })
}

// with returns the history after m, a memory of turn, was stored. A memory at the end is written behind those that others may be reading:
// histories share their memory, and each is changed once at most.
func (h history) with(m chat.Memory, turn chat.ResponseID) history {
	at := h.after(turn)
	if at == 0 && !h.whole {
		return h // it is older than all that are kept
	}
	if at < len(h.all) || len(h.all) == cap(h.all) {
		h = h.copied()
		if at = h.after(turn); at == 0 && !h.whole {
			return h
		}
	}
	h.all, h.turns, h.size = slices.Insert(h.all, at, m), slices.Insert(h.turns, at, turn), h.size+bytesOf(m)
	return h
}

// copied returns a copy with room for more, without the oldest of too many.
func (h history) copied() history {
	drop := max(0, len(h.all)-mostKept)
	kept := len(h.all) - drop
	room := kept + max(4, kept/4)
	for _, m := range h.all[:drop] {
		h.size -= bytesOf(m)
	}
	h.all = append(make([]chat.Memory, 0, room), h.all[drop:]...)
	h.turns = append(make([]chat.ResponseID, 0, room), h.turns[drop:]...)
	h.whole = h.whole && drop == 0
	return h
}

// bytes implements [value].
func (h history) bytes() int {
	return h.size + cap(h.all)*int(unsafe.Sizeof(chat.Memory{})) + cap(h.turns)*int(unsafe.Sizeof(chat.ResponseID(0)))
}

// bytesOf estimates the size of the values that m points to.
func bytesOf(m chat.Memory) int {
	n := len(m.ID) + len(m.Author) + len(m.Name) + len(m.Text) + len(m.InReplyTo) + len(m.Quoted.Name) + len(m.Quoted.Text) + len(m.Quoted.What) + len(m.Thought)
	for _, f := range m.Files {
		n += int(unsafe.Sizeof(f)) + len(f.Ref) + len(f.Name) + len(f.Title) + len(f.Description) + len(f.Text)
	}
	for _, text := range m.History {
		n += 16 + len(text)
	}
	for _, c := range m.Calls {
		n += int(unsafe.Sizeof(c)) + len(c.Name) + len(c.Parameters) + len(c.CompactParams) + len(c.Result) + len(c.ShortResult) + len(c.Error) + 256*len(c.Files)
	}
	return n + 32*len(m.Actions)
}

// equals implements [value]: the newest memories are the same, as far as both have them.
func (h history) equals(read value) bool {
	o := read.(history)
	n := min(len(h.all), len(o.all))
	return (n == len(h.all) || !o.whole) && (n == len(o.all) || !h.whole) &&
		slices.EqualFunc(h.all[len(h.all)-n:], o.all[len(o.all)-n:], func(a, b chat.Memory) bool { return reflect.DeepEqual(a, b) })
}
