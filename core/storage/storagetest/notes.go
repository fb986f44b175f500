package storagetest

import (
	"context"
	"slices"
	"sync"
	"time"

	"parley/core/chat"
	"parley/core/storage"
)

// NotePad is a store of notes for tests of what uses them. The zero value is empty, and nil stays so. It knows every room, and deletes nothing by
// itself. It is safe for concurrent use.
type NotePad struct {
	mu  sync.Mutex
	all []chat.RoomNote // oldest first
}

var _ storage.RoomNotes = (*NotePad)(nil)

// Notes implements [storage.RoomNotes].
func (s *NotePad) Notes(_ context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error) {
	return s.newest(limit, func(n chat.RoomNote) bool { return n.Room == room && n.Kind == kind }), nil
}

// NotesAbout implements [storage.RoomNotes].
func (s *NotePad) NotesAbout(_ context.Context, person chat.EntityID, kind chat.NoteKind, _ bool, limit int) ([]chat.RoomNote, error) {
	return s.newest(limit, func(n chat.RoomNote) bool { return n.About == person && n.Kind == kind }), nil
}

// SaveNote implements [storage.RoomNotes].
func (s *NotePad) SaveNote(_ context.Context, n chat.RoomNote) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(o chat.RoomNote) bool { return o.Room == n.Room && o.Kind == n.Kind && o.Key == n.Key })
	if n.Text != "" {
		s.all = append(s.all, n)
	}
	return nil
}

func (s *NotePad) newest(limit int, fits func(chat.RoomNote) bool) (found []chat.RoomNote) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.all {
		if fits(n) && (n.Expires.IsZero() || time.Now().Before(n.Expires)) {
			found = append(found, n)
		}
	}
	return found[max(0, len(found)-limit):]
}
