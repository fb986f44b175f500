package storagetest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"parley/core/answer"
	"parley/core/chat"
)

// list returns the newest approvals of a kind.
func (s *storeModel) list(limit int, is func(chat.Approval) bool) (all []chat.Approval, _ error) {
	for _, a := range slices.Backward(s.approvals) {
		if is(a) && len(all) < limit {
			all = append(all, a)
		}
	}
	return all, nil
}

func first(all []chat.Approval, err error) (chat.Approval, error) {
	if len(all) == 0 {
		return chat.Approval{}, chat.ErrNotFound
	}
	return all[0], err
}

func (s *storeModel) RequestApproval(ctx context.Context, a chat.Approval) (chat.Approval, error) {
	for _, text := range []string{string(a.Run), a.Call, a.Tool, a.Kind, a.Arguments, string(a.Asker)} {
		if !utf8.ValidString(text) {
			return chat.Approval{}, errors.New("it could not be read back")
		}
	}
	if stored, err := s.Approval(ctx, a.ID); err == nil {
		return stored, nil
	}
	s.approvals = append(s.approvals, a)
	slices.SortStableFunc(s.approvals, func(a, b chat.Approval) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(b.ID, a.ID)) })
	return a, nil
}

func (s *storeModel) Approval(_ context.Context, id string) (chat.Approval, error) {
	return first(s.list(1, func(a chat.Approval) bool { return a.ID == id }))
}

func (s *storeModel) DecideApproval(_ context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error {
	i := slices.IndexFunc(s.approvals, func(a chat.Approval) bool { return a.ID == id && a.Decision == from })
	switch {
	case !utf8.ValidString(string(by)):
		return errors.New("it could not be read back")
	case i < 0:
		return answer.ErrLost
	}
	s.approvals[i].Decision, s.approvals[i].By, s.approvals[i].Decided = to, by, at
	return nil
}

func (s *storeModel) StandingApproval(_ context.Context, room chat.RoomID, kind string) (chat.Approval, error) {
	return first(s.list(1, func(a chat.Approval) bool { return a.Room == room && a.Kind == kind && a.Decision == chat.Always }))
}

func (s *storeModel) OpenApprovals(_ context.Context, room chat.RoomID, limit int) ([]chat.Approval, error) {
	return s.list(limit, func(a chat.Approval) bool {
		return a.Room == room && (a.Decision == chat.Pending || a.Decision == chat.Replaced)
	})
}

func (s *storeModel) RecentApprovals(_ context.Context, room chat.RoomID, limit int) ([]chat.Approval, error) {
	return s.list(limit, func(a chat.Approval) bool { return a.Room == room })
}

func (s *storeModel) PendingApprovals(_ context.Context, limit int) ([]chat.Approval, error) {
	return s.list(limit, func(a chat.Approval) bool { return a.Decision == chat.Pending })
}

// closeApprovals ends those of a room that is cleared.
func (s *storeModel) closeApprovals(room chat.RoomID) {
	ends := map[chat.Decision]chat.Decision{chat.Always: chat.Lapsed, chat.Pending: chat.Stopped, chat.Approved: chat.Stopped, chat.Amended: chat.Stopped, chat.Replaced: chat.Stopped}
	for i, a := range s.approvals {
		if to, ends := ends[a.Decision]; ends && a.Room == room {
			s.approvals[i].Decision = to
		}
	}
}

// DirectRoom implements [storage.RoomFinder].
func (s *storeModel) DirectRoom(_ context.Context, author chat.EntityID) (chat.Room, error) {
	for _, m := range slices.Backward(s.said) {
		if r := s.rooms[m.Room]; m.Author == author && r.Kind == chat.Direct && !r.Gone {
			return r, nil
		}
	}
	return chat.Room{}, chat.ErrNotFound
}
