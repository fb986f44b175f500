package storagetest

import (
	"context"

	"parley/core/chat"
)

func (s *storeModel) Room(_ context.Context, id chat.RoomID) (chat.Room, error) {
	if r, ok := s.rooms[id]; ok {
		return r, nil
	}
	return chat.Room{}, chat.ErrNotFound
}

func (s *storeModel) SaveRoom(_ context.Context, r chat.Room) error {
	if old, ok := s.rooms[r.ID]; ok {
		r.Created = old.Created
		if r.Address.Connector == "" {
			r.Address = old.Address
		}
	}
	s.rooms[r.ID] = r
	return nil
}

func (s *storeModel) Attention(_ context.Context, id chat.RoomID) (chat.Attention, error) {
	return s.heed[id], nil
}

func (s *storeModel) SetAttention(_ context.Context, id chat.RoomID, a chat.Attention) error {
	if _, ok := s.rooms[id]; !ok {
		return chat.ErrNotFound
	}
	s.heed[id] = a
	return nil
}
