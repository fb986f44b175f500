package coretest

import (
	"context"
	"slices"
	"unicode/utf8"

	"parley/core/chat"
	"parley/internal/search"
)

// keptVector is the vector of a message, or its place.
type keptVector struct {
	seq, version int64
	model        string // empty while it waits
	packed       []byte
}

// await lets a message wait for a vector, which has words.
func (m *storeModel) await(s storedMemory) bool {
	if m.vectors[s.ID] != nil || s.Kind != chat.Said || !s.InTranscript() || len(search.Words(s.Text)) == 0 {
		return false
	}
	m.versions++
	m.vectors[s.ID] = &keptVector{seq: m.versions, version: m.versions}
	return true
}

// Unembedded implements [parley/core/storage.VectorIndex].
func (m *storeModel) Unembedded(_ context.Context, model string, limit int) (all []chat.Unembedded, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range slices.Backward(m.said) {
		if v := m.vectorOf(s); v != nil && v.model != model && len(all) < limit {
			all = append(all, chat.Unembedded{Memory: s.Memory, Ticket: chat.Ticket{Seq: v.seq, Version: v.version}})
		}
	}
	return all, nil
}

// vectorOf returns the vector of s, which waits for another if it was revised.
func (m *storeModel) vectorOf(s storedMemory) *keptVector {
	v := m.vectors[s.ID]
	if v != nil && m.embedded[s.ID] != s.Text && m.embedded[s.ID] != "" {
		m.versions++
		v.version, v.model, v.packed = m.versions, "", nil
	}
	if v != nil {
		m.embedded[s.ID] = s.Text
	}
	return v
}

// ReleaseUnembedded implements [parley/core/storage.VectorIndex].
func (*storeModel) ReleaseUnembedded(context.Context, []chat.Ticket) error { return nil }

// SaveVectors implements [parley/core/storage.VectorIndex].
func (m *storeModel) SaveVectors(_ context.Context, model string, vectors []chat.Vector) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.said {
		v := m.vectorOf(s)
		for _, saved := range vectors {
			if v != nil && saved.Ticket == (chat.Ticket{Seq: v.seq, Version: v.version}) {
				v.model, v.packed = model, search.Pack(saved.Vector)
			}
		}
	}
	return nil
}

// FindVectors implements [parley/core/storage.VectorIndex].
func (m *storeModel) FindVectors(_ context.Context, q chat.Search) ([]chat.Passage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	near := search.Nearest{Unit: search.Unit(q.Vector), Limit: 3 * q.Limit}
	if near.Unit == nil || q.Model == "" {
		return nil, nil
	}
	for _, i := range m.searched(q) {
		if v := m.vectorOf(m.said[i]); v != nil && v.model == q.Model {
			near.Add(int64(i), v.packed)
		}
	}
	for _, i := range near.Damaged {
		m.vectors[m.said[i].ID].model = ""
	}
	return m.passages(near.IDs(), q.Limit), nil
}

// Backfill implements [parley/core/storage.VectorBackfill].
func (m *storeModel) Backfill(_ context.Context, limit int) (more bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, s := range m.said {
		if n < limit && m.indexed[s.ID] && m.await(s) {
			n++
		}
	}
	return n == limit, nil
}

// BackfillSize implements [parley/core/storage.VectorBackfill].
func (m *storeModel) BackfillSize(_ context.Context, longest int) (messages, characters int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	messages, characters = m.size(longest, func(s storedMemory) bool { return m.vectors[s.ID] == nil && s.Kind == chat.Said })
	return messages, characters, nil
}

// WaitingSize implements [parley/core/storage.VectorBackfill].
func (m *storeModel) WaitingSize(_ context.Context, model string, longest int) (messages, characters int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	messages, characters = m.size(longest, func(s storedMemory) bool { v := m.vectorOf(s); return v != nil && v.model != model })
	return messages, characters, nil
}

// size counts the messages that are chosen.
func (m *storeModel) size(longest int, chosen func(storedMemory) bool) (messages, characters int) {
	for _, s := range m.said {
		if chosen(s) {
			messages++
			length := utf8.RuneCountInString(s.Text)
			for _, f := range s.Files {
				length += utf8.RuneCountInString(f.Title + f.Description + f.Text)
			}
			characters += min(length, longest)
		}
	}
	return messages, characters
}
