package storagetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

func (s *storeModel) Ask(_ context.Context, q chat.Question) error {
	if i := slices.IndexFunc(s.asked, func(o chat.Question) bool { return o.Run == q.Run && o.ResultRun == "" }); i >= 0 {
		s.asked[i] = q
	} else {
		s.asked = append(s.asked, q)
	}
	return nil
}

func (s *storeModel) question(is func(chat.Question) bool) (chat.Question, error) {
	for _, q := range slices.Backward(s.asked) {
		if is(q) {
			return q, nil
		}
	}
	return chat.Question{}, chat.ErrNotFound
}

func (s *storeModel) Question(_ context.Context, id string) (chat.Question, error) {
	return s.question(func(q chat.Question) bool { return q.ID == id })
}

func (s *storeModel) QuestionOf(_ context.Context, run chat.RunID) (chat.Question, error) {
	return s.question(func(q chat.Question) bool { return q.Run == run || q.ResultRun == run })
}

func (s *storeModel) OpenQuestions(_ context.Context, room chat.RoomID) (open []chat.Question, _ error) {
	for _, q := range s.asked {
		if q.Room == room && q.Open(time.Now()) {
			open = append(open, q)
		}
	}
	return open, nil
}

func (s *storeModel) Withdraw(_ context.Context, room chat.RoomID, run chat.RunID) error {
	for i, q := range s.asked {
		if q.Room == room && q.ResultRun == "" && (run == "" || q.Run == run) {
			s.asked[i].Expires = time.Time{}
		}
	}
	return nil
}

func (s *storeModel) Choose(_ context.Context, id string, option int, in chat.Memory, payer chat.EntityID) (chat.Accepted, error) {
	if acc, known := s.known(in); known {
		return acc, nil
	}
	i := slices.IndexFunc(s.asked, func(q chat.Question) bool { return q.ID == id })
	if i < 0 || !s.asked[i].Open(time.Now()) || s.asked[i].Room != in.Room || s.find(s.asked[i].Run) == nil {
		return chat.Accepted{}, answer.ErrLost
	}
	q := &s.asked[i]
	if option == len(q.Options) && q.Other != "" {
		q.Options = append(slices.Clone(q.Options), in.Text)
	}
	q.Choice, q.By, q.Name, q.BilledTo = option, in.Author, in.Name, payer
	acc := s.carryOn(q, in.ID)
	acc.Memory = in.ID
	s.said = append(s.said, storedMemory{in, acc, true})
	return acc, nil
}

func (s *storeModel) Retire(_ context.Context, id string) (chat.Accepted, error) {
	i := slices.IndexFunc(s.asked, func(q chat.Question) bool { return q.ID == id && q.ResultRun == "" })
	if i < 0 || s.find(s.asked[i].Run) == nil {
		return chat.Accepted{}, answer.ErrLost
	}
	return s.carryOn(&s.asked[i]), nil
}

func (s *storeModel) carryOn(q *chat.Question, inputs ...chat.MemoryID) chat.Accepted {
	asker := s.find(q.Run)
	shown := slices.Clone(asker.Shown)
	if !asker.Outcome.Done() && asker.Verdict == nil {
		shown = nil
	}
	address := asker.Address
	if q.By != "" {
		address = address.For(q.By, q.BilledTo)
	}
	turn := s.nextTurn(q.Room)
	r := &ownedRun{Run: chat.Run{
		Author: q.By,
		ID:     chat.RunID(fmt.Sprintf("%s#%d", q.Room, turn)), Response: turn, Room: q.Room, RoomKind: asker.RoomKind, Address: address,
		Inputs: inputs, Opened: time.Now(), Ready: time.Now(), Kind: chat.RunChoiceResult, Shown: shown,
	}}
	s.runs = append(s.runs, r)
	q.ResultRun = r.ID
	return chat.Accepted{Run: r.ID, Response: turn}
}
