package coretest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"parley/core/answer"
	"parley/core/chat"
)

// approvalModel is the part of a [storeModel] that knows approvals.
type approvalModel struct {
	mu  sync.Mutex
	all []chat.Approval
}

func (s *approvalModel) find(is func(chat.Approval) bool) (chat.Approval, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range slices.Backward(s.all) {
		if is(a) {
			return a, nil
		}
	}
	return chat.Approval{}, chat.ErrNotFound
}

func (s *approvalModel) RequestApproval(ctx context.Context, a chat.Approval) (chat.Approval, error) {
	if !utf8.ValidString(fmt.Sprint(a)) {
		return chat.Approval{}, errors.New("text is not valid")
	}
	if known, err := s.Approval(ctx, a.ID); err == nil {
		return known, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, a)
	return a, nil
}

func (s *approvalModel) Approval(_ context.Context, id string) (chat.Approval, error) {
	return s.find(func(a chat.Approval) bool { return a.ID == id })
}

func (s *approvalModel) DecideApproval(_ context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error {
	if !utf8.ValidString(string(by)) {
		return errors.New("text is not valid")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.all, func(a chat.Approval) bool { return a.ID == id && a.Decision == from })
	if i < 0 {
		return answer.ErrLost
	}
	s.all[i].Decision, s.all[i].By, s.all[i].Decided = to, by, at
	return nil
}

func (s *approvalModel) StandingApproval(_ context.Context, room chat.RoomID, kind string) (chat.Approval, error) {
	return s.find(func(a chat.Approval) bool { return a.Room == room && a.Kind == kind && a.Decision == chat.Always })
}

func (s *approvalModel) RecentApprovals(_ context.Context, room chat.RoomID, limit int) (all []chat.Approval, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.all {
		if a.Room == room {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b chat.Approval) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return all[:min(limit, len(all))], nil
}

func (s *approvalModel) OpenApprovals(ctx context.Context, room chat.RoomID, limit int) ([]chat.Approval, error) {
	all, err := s.RecentApprovals(ctx, room, math.MaxInt)
	all = slices.DeleteFunc(all, func(a chat.Approval) bool { return a.Decision != chat.Pending && a.Decision != chat.Replaced })
	return all[:min(limit, len(all))], err
}

func (s *approvalModel) dropApprovals(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(a chat.Approval) bool { return a.Expires.Before(before) && a.Decision != chat.Always })
}

// endApprovals ends those of a room that was cleared.
func (s *approvalModel) endApprovals(room chat.RoomID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.all {
		switch {
		case a.Room != room:
		case a.Decision == chat.Always:
			s.all[i].Decision = chat.Lapsed
		case a.Decision == chat.Pending, a.Decision == chat.Approved:
			s.all[i].Decision = chat.Stopped
		}
	}
}
