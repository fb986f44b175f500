package coretest

import (
	"context"
	"slices"
	"time"

	"parley/core/chat"
	"parley/internal/search"
)

// IndexWords implements [parley/core/storage.WordIndex].
func (m *storeModel) IndexWords(_ context.Context, limit int, embed time.Time) (more bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, s := range m.said {
		if s.Kind == chat.Said && !m.indexed[s.ID] && n < limit {
			m.indexed[s.ID] = true
			n++
			if !embed.IsZero() && !s.At.Before(embed) {
				m.await(s)
			}
		}
	}
	return n == limit, nil
}

// FindWords implements [parley/core/storage.WordIndex].
func (m *storeModel) FindWords(_ context.Context, q chat.Search) (found []chat.Passage, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var texts []search.Text
	for _, i := range m.searched(q) {
		s := m.said[i]
		words := s.Text
		for _, f := range s.Files {
			words += "\n" + f.Name + "\n" + f.Text
		}
		if m.indexed[s.ID] {
			texts = append(texts, search.Text{ID: int64(i), Words: search.Words(words)})
		}
	}
	var best []int64
	for _, hit := range search.Rank(texts, q.Words) {
		best = append(best, hit.ID)
	}
	return m.passages(best, q.Limit), nil
}

// searched returns the messages that a search looks at.
func (m *storeModel) searched(q chat.Search) (all []int) {
	before := chat.ResponseID(0)
	for _, s := range m.said {
		if s.ID == q.Before && s.Room == q.Room {
			before = s.Response
		}
	}
	for i, s := range m.said {
		if s.InTranscript() && (s.Room == q.Room && s.Response < before || m.shares(s.Room, q)) {
			all = append(all, i)
		}
	}
	return all
}

// passages returns the turns of messages, each once.
func (m *storeModel) passages(best []int64, limit int) (found []chat.Passage) {
	for _, i := range best {
		p := chat.Passage{Room: m.said[i].Room, Turn: m.said[i].Response}
		known := slices.ContainsFunc(found, func(o chat.Passage) bool { return o.Room == p.Room && o.Turn == p.Turn })
		if known || len(found) == limit {
			continue
		}
		for _, s := range m.said {
			if s.Room == p.Room && s.Response == p.Turn && s.Kind == chat.Said && s.InTranscript() {
				p.Messages = append(p.Messages, s.Memory)
			}
		}
		found = append(found, p)
	}
	return found
}

// shares reports whether room is another direct chat of the person who asks.
func (m *storeModel) shares(room chat.RoomID, q chat.Search) bool {
	r := m.rooms[room]
	return q.Person != "" && room != q.Room && r.Kind == chat.Direct && !r.Gone &&
		slices.ContainsFunc(m.said, func(s storedMemory) bool { return s.Room == room && s.Author == q.Person && s.arrived })
}
