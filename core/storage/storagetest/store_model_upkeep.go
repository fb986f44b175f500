package storagetest

import (
	"context"
	"maps"
	"slices"

	"parley/core/chat"
)

func (s *storeModel) Expire(ctx context.Context, before chat.Expiry) (more bool, err error) {
	s.expireContent(ctx, before)
	maps.DeleteFunc(s.marks, func(_ chat.MemoryID, m storedMark) bool { return m.at.Before(before.Marks) })
	s.drop(func(u chat.Upload) bool { return u.At.Before(before.Uploads) && s.index(u.Message) < 0 })
	s.runs = slices.DeleteFunc(s.runs, func(r *ownedRun) bool { return r.Outcome.Done() && r.Opened.Before(before.Rest) })
	s.asked = slices.DeleteFunc(s.asked, func(q chat.Question) bool {
		return s.find(q.Run) == nil && s.find(q.ResultRun) == nil && q.Expires.Before(before.Rest)
	})
	s.approvals = slices.DeleteFunc(s.approvals, func(a chat.Approval) bool { return a.Decision != chat.Always && a.Expires.Before(before.Rest) })
	maps.DeleteFunc(s.rooms, func(_ chat.RoomID, r chat.Room) bool {
		return r.World == "" && !r.Created.IsZero() && r.Created.Before(before.Rest) && s.heed[r.ID] == chat.Normal && s.empty(r.ID)
	})
	maps.DeleteFunc(s.directoryModel.people, func(id chat.EntityID, _ chat.Entity) bool {
		return s.met[id].Before(before.Rest) && s.traceless(id)
	})
	return false, nil
}

// expireContent deletes expired messages, except those of open runs.
func (s *storeModel) expireContent(ctx context.Context, before chat.Expiry) {
	for _, m := range slices.Clone(s.said) {
		r := s.find(m.Run)
		if !m.At.Before(before.Messages) || r != nil && !r.Outcome.Done() {
			continue
		}
		_ = s.Forget(ctx, m.ID)
		s.erase(m.Room)
	}
}

// empty reports whether nothing belongs to a room.
func (s *storeModel) empty(room chat.RoomID) bool {
	return !slices.ContainsFunc(s.said, func(m storedMemory) bool { return m.Room == room }) &&
		!slices.ContainsFunc(s.runs, func(r *ownedRun) bool { return r.Room == room }) &&
		!s.holds(room)
}

// traceless reports whether nothing belongs to an entity.
func (s *storeModel) traceless(id chat.EntityID) bool {
	for _, m := range s.members {
		if m.Entity == id && !m.Gone {
			return false
		}
	}
	return !slices.ContainsFunc(s.said, func(m storedMemory) bool { return m.Author == id })
}

// erase takes the text from the runs of room that have ended, and their questions, where nothing of their turn is remembered.
func (s *storeModel) erase(room chat.RoomID) {
	s.asked = slices.DeleteFunc(s.asked, func(q chat.Question) bool {
		asker, carrier := s.find(q.Run), s.find(q.ResultRun)
		over := asker != nil && asker.Outcome.Done() && !s.remembers(asker) && (carrier == nil || carrier.Outcome.Done())
		return q.Room == room && over
	})
	for _, r := range s.runs {
		carried := slices.ContainsFunc(s.asked, func(q chat.Question) bool { return q.Run == r.ID && q.ResultRun != "" })
		if r.Room != room || !r.Outcome.Done() || s.remembers(r) || carried {
			continue
		}
		r.Text, r.Verdict = "", nil
		for _, act := range []*string{&r.Acting, &r.Acted} {
			if *act != "" {
				*act = "-"
			}
		}
	}
}

// remembers reports whether a run has an input, or what it said.
func (s *storeModel) remembers(r *ownedRun) bool {
	return len(r.Inputs) > 0 || slices.ContainsFunc(s.said, func(m storedMemory) bool { return m.ID == r.out && r.out != "" })
}

// carries reports whether a run carries out what a person chose, or takes away the options of a question that is remembered.
func (s *storeModel) carries(r *ownedRun) bool {
	for _, q := range s.asked {
		if q.ResultRun == r.ID {
			asker := s.find(q.Run)
			return q.By != "" || asker != nil && s.remembers(asker)
		}
	}
	return false
}
