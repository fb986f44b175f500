package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/text"
)

const (
	maxListed  = 200 // conversations in a list, the newest
	maxScanned = 50  // conversations that a search reads
)

// listed is a conversation in the list of its reader.
type listed struct {
	ID        string    `json:"id"`
	Title     string    `json:"title,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"` // when the reader last wrote there, at most an hour off
}

// listReply is a list of conversations.
type listReply struct {
	Conversations []listed `json:"conversations"`
}

// list shows the reader their conversations, the newest first: GET /api/conversations. With q, only those whose title or
// latest messages contain it.
func (d door) list(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	who := readerOf(r)
	if who.id == "" {
		return nil, needsIdentity("There is no list without a token.")
	}
	from := caller{from: d.web.guard.client(r)}
	if !d.web.building.take(from, 1) { // a list reads many conversations
		return nil, d.web.failures.refuse("list conversations", errCrowded)
	}
	defer d.web.building.give(from, 1)
	notes, err := d.web.opts.Store.NotesAbout(r.Context(), who.id, chat.ReaderNote, false, maxListed)
	if err != nil {
		return nil, d.web.failures.refuse("list conversations", err)
	}
	deleted, err := eraser{d}.deletions(r.Context())
	if err != nil {
		return nil, d.web.failures.refuse("list conversations", err)
	}
	notes = slices.DeleteFunc(slices.Clone(notes), func(n chat.RoomNote) bool { return deleted[n.Room] })
	q := strings.ToLower(text.OneLine(r.URL.Query().Get("q"), maxTitle))
	all := []listed{}
	slices.Reverse(notes)
	if q != "" {
		notes = notes[:min(len(notes), maxScanned)]
	}
	for _, n := range notes {
		one, err := d.describe(r, n)
		fits := true
		if err == nil && q != "" {
			fits, err = d.contains(r, n.Room, one.Title, q)
		}
		switch {
		case errors.Is(err, chat.ErrNotFound): // it expired in between
		case err != nil:
			return nil, d.web.failures.refuse("list conversations", err)
		case fits && one.Title != "": // without messages, such as a deleted one
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b listed) int { return cmp.Compare(b.UpdatedAt.UnixNano(), a.UpdatedAt.UnixNano()) })
	return listReply{all}, nil
}

// describe returns the conversation that a note on a reader is about.
func (d door) describe(r *http.Request, n chat.RoomNote) (listed, error) {
	room, err := d.web.opts.Store.Room(r.Context(), n.Room)
	if err != nil {
		return listed{}, err
	}
	one := listed{ID: strings.TrimPrefix(string(n.Room), Name+"/"), CreatedAt: room.Created.UTC(), UpdatedAt: n.At.UTC()}
	one.Title, err = d.title(r.Context(), n.Room)
	return one, err
}

// contains reports whether the title or one of the latest messages of a room contains q, which is in lower case.
func (d door) contains(r *http.Request, room chat.RoomID, title, q string) (bool, error) {
	if strings.Contains(strings.ToLower(title), q) {
		return true, nil
	}
	recent, err := d.web.recent(r.Context(), room)
	return slices.ContainsFunc(recent, func(m chat.Memory) bool { return strings.Contains(strings.ToLower(m.Text), q) }), err
}
