package storagetest

import (
	"context"
	"time"

	"parley/core/chat"
)

// storedMark is what stays of an event whose memory is gone, or which had none.
type storedMark struct {
	chat.Accepted
	at time.Time
}

func (s *storeModel) Known(_ context.Context, in chat.Memory) (chat.Accepted, error) {
	acc, known := s.known(in)
	if !known {
		return chat.Accepted{}, chat.ErrNotFound
	}
	return acc, nil
}

func (s *storeModel) known(in chat.Memory) (acc chat.Accepted, known bool) {
	i := s.index(in.ID)
	if i < 0 {
		m, known := s.marks[in.ID]
		m.Duplicate = true
		if r := s.find(m.Run); r == nil || r.Outcome.Done() || r.Room != in.Room {
			m.Run = ""
		}
		return m.Accepted, known
	}
	acc = s.said[i].Accepted
	r := s.find(acc.Run)
	if r == nil {
		acc.Run = "" // it has expired
	}
	acc.Duplicate, acc.Altered, acc.Chosen = true, s.said[i].Text != in.Text, r != nil && r.Kind == chat.RunChoiceResult
	return acc, true
}

func (s *storeModel) Mark(_ context.Context, room chat.RoomID, id chat.MemoryID) (chat.Accepted, error) {
	if acc, known := s.known(chat.Memory{ID: id, Room: room}); known {
		return acc, nil
	}
	acc := chat.Accepted{Memory: id, Response: s.turns[room]}
	s.marks[id] = storedMark{acc, time.Now()}
	return acc, nil
}

// leaveMark is for a memory that is about to go. Only what arrived leaves one.
func (s *storeModel) leaveMark(m storedMemory) {
	if m.arrived {
		s.marks[m.ID] = storedMark{m.Accepted, time.Now()}
	}
}
