package coretest

import (
	"context"
	"slices"
	"sync"
	"time"

	"parley/core/chat"
	"parley/core/quota"
)

// peopleModel is the simplest [storage.People] and [quota.UsageStore] there can be.
type peopleModel struct {
	mu       sync.Mutex
	people   []chat.Person
	requests []chat.PairingRequest
	spent    map[[2]string]quota.Total // by day and bucket
	warned   map[[2]string]bool
}

func newPeopleModel() *peopleModel {
	return &peopleModel{spent: map[[2]string]quota.Total{}, warned: map[[2]string]bool{}}
}

func (s *peopleModel) Person(_ context.Context, id chat.EntityID) (chat.Person, error) {
	return s.first(func(p chat.Person) bool { return p.ID == id })
}

func (s *peopleModel) Owner(context.Context) (chat.Person, error) {
	return s.first(func(p chat.Person) bool { return p.Owner })
}

func (s *peopleModel) first(is func(chat.Person) bool) (chat.Person, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.people, is); i >= 0 {
		return s.people[i], nil
	}
	return chat.Person{}, chat.ErrNotFound
}

func (s *peopleModel) People(context.Context) ([]chat.Person, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.people), nil
}

func (s *peopleModel) Approve(_ context.Context, p chat.Person) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letIn(p)
	return nil
}

func (s *peopleModel) letIn(p chat.Person) {
	s.forget(p.ID)
	for i, old := range s.people {
		if old.ID == p.ID {
			s.people[i].Name, s.people[i].Address = p.Name, p.Address
			return
		}
	}
	p.Owner = false
	s.people = append(s.people, p)
}

func (s *peopleModel) forget(id chat.EntityID) {
	s.requests = slices.DeleteFunc(s.requests, func(k chat.PairingRequest) bool { return k.ID == id })
}

func (s *peopleModel) Own(_ context.Context, p chat.Person) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.people, func(p chat.Person) bool { return p.Owner }) {
		return false, nil
	}
	s.letIn(p)
	s.forget("")
	for i := range s.people {
		s.people[i].Owner = s.people[i].ID == p.ID
	}
	return true, nil
}

func (s *peopleModel) Dismiss(_ context.Context, id chat.EntityID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.people) + len(s.requests)
	s.forget(id)
	s.people = slices.DeleteFunc(s.people, func(p chat.Person) bool { return p.ID == id })
	if len(s.people)+len(s.requests) == before {
		return chat.ErrNotFound
	}
	return nil
}

func (s *peopleModel) Reject(_ context.Context, code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting(time.Now())
	i := slices.IndexFunc(s.requests, func(k chat.PairingRequest) bool { return k.Code == code && k.ID != "" })
	if i < 0 || code == "" {
		return chat.ErrNotFound
	}
	s.requests[i].Code = ""
	return nil
}

func (s *peopleModel) RequestPairing(_ context.Context, k chat.PairingRequest, r chat.PairingRule) (chat.PairingRequest, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, others := time.Now(), 0
	s.waiting(now)
	for i, old := range s.requests {
		if old.ID == k.ID {
			tell := old.Code != "" && now.Sub(old.Told) >= r.RepeatAfter
			if tell {
				s.requests[i].Told = now.UTC()
			}
			return s.requests[i], tell, nil
		}
		if old.Address.Connector == k.Address.Connector && old.Code != "" {
			others++
		}
	}
	if others >= r.Limit {
		return chat.PairingRequest{}, false, nil
	}
	k.Told = now.UTC()
	s.requests = append(s.requests, k)
	return k, true, nil
}

// waiting forgets requests that have ended.
func (s *peopleModel) waiting(now time.Time) {
	s.requests = slices.DeleteFunc(s.requests, func(k chat.PairingRequest) bool { return !k.Ends.IsZero() && !k.Ends.After(now) })
}

func (s *peopleModel) PairingRequests(context.Context) ([]chat.PairingRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting(time.Now())
	return slices.DeleteFunc(slices.Clone(s.requests), func(k chat.PairingRequest) bool { return k.Code == "" }), nil
}

// reaches reports whether a person, or one who requests access, is reached in room.
func (s *peopleModel) reaches(room chat.RoomID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.people, func(p chat.Person) bool { return p.Address.Room == room }) ||
		slices.ContainsFunc(s.requests, func(k chat.PairingRequest) bool { return k.Address.Room == room })
}
