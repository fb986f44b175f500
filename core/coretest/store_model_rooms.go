package coretest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"parley/core/chat"
)

func (s *storeModel) Room(_ context.Context, id chat.RoomID) (chat.Room, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.rooms[id]; ok {
		return r, nil
	}
	return chat.Room{}, chat.ErrNotFound
}

func (s *storeModel) RoomsNamed(_ context.Context, name string, author chat.EntityID) (all []chat.Room, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rooms {
		wrote := slices.ContainsFunc(s.said, func(m storedMemory) bool { return m.Room == r.ID && m.Author == author })
		if (string(r.ID) == name || r.Name != "" && strings.EqualFold(r.Name, name)) && (author == "" || wrote) &&
			!r.Gone && !s.members[member{r.World, author}].Gone {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b chat.Room) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all[:min(len(all), 10)], nil
}

func (s *storeModel) ChatRoom(_ context.Context, connector, id string) (chat.Room, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []chat.Room
	for _, r := range s.rooms {
		if r.Connector == connector && !r.Gone && len(r.Chats) > 0 && r.Chats[0] == id {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return chat.Room{}, chat.ErrNotFound
	}
	return slices.MaxFunc(found, func(a, b chat.Room) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(b.ID, a.ID)) }), nil
}

func (s *storeModel) DirectRoom(_ context.Context, author chat.EntityID) (chat.Room, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Backward(s.said) {
		if r := s.rooms[m.Room]; m.Author == author && r.Kind == chat.Direct && !r.Gone {
			return r, nil
		}
	}
	return chat.Room{}, chat.ErrNotFound
}

func (s *storeModel) SaveRoom(_ context.Context, r chat.Room) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.save(r)
	return nil
}

func (s *storeModel) save(r chat.Room) {
	if old, ok := s.rooms[r.ID]; ok {
		r.Created = old.Created
		if r.Address.Connector == "" {
			r.Address = old.Address
		}
	}
	s.rooms[r.ID] = r
}

func (s *storeModel) Attention(_ context.Context, id chat.RoomID) (chat.Attention, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heed[id], nil
}

func (s *storeModel) SetAttention(_ context.Context, id chat.RoomID, a chat.Attention) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.rooms[id]; !ok {
		return chat.ErrNotFound
	}
	s.heed[id] = a
	return nil
}
