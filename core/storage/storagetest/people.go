package storagetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

func peopleChecks() []storeCheck {
	return []storeCheck{
		{"an approved person stays approved", peopleApproved},
		{"one of two claimants becomes the owner", peopleOneOwner},
		{"a removed person can be approved again", peopleDismissed},
		{"a repeated request keeps its code and is announced at intervals", requestAgain},
		{"a request expires", requestEnds},
		{"pending requests are limited for each connector", requestFew},
		{"a rejected person gets no reply until the request expires", requestRejected},
	}
}

func person(id chat.EntityID) chat.Person {
	return chat.Person{
		ID: id, Name: "the " + string(id), Since: time.Now().UTC(),
		Address: chat.Address{Connector: "fake", Room: chat.RoomID("fake/" + id), ConnectorData: []byte{0, 0xff}},
	}
}

func request(id chat.EntityID, code string) chat.PairingRequest {
	return chat.PairingRequest{Person: person(id), Code: code, Ends: time.Now().Add(time.Hour).UTC()}
}

func peopleApproved(t *testing.T, s store) {
	_, err := s.Person(t.Context(), "ada")
	s.fails(err, chat.ErrNotFound)
	_, _, err = s.RequestPairing(t.Context(), request("ada", "A"), chat.PairingRule{Limit: 1})
	s.must(err)
	ada, bob := person("ada"), person("bob")
	ada.Owner = true // which is not how one becomes it
	s.must(s.Approve(t.Context(), ada))
	ada.Owner = false
	time.Sleep(time.Hour)
	s.must(s.Approve(t.Context(), bob))
	s.must(s.Approve(t.Context(), chat.Person{ID: "ada", Name: "Ada", Since: time.Now(), Address: bob.Address}))
	ada.Name, ada.Address = "Ada", bob.Address
	all := require.Value(s.People(t.Context()))(s.t)
	s.same("the people", all, []chat.Person{ada, bob})
	got := require.Value(s.Person(t.Context(), "ada"))(s.t)
	s.same("one of them", got, ada)
	waiting := require.Value(s.PairingRequests(t.Context()))(s.t)
	s.same("the pending requests", waiting, []chat.PairingRequest{})
	_, err = s.Owner(t.Context())
	s.fails(err, chat.ErrNotFound)
}

func peopleOneOwner(t *testing.T, s store) {
	_, _, err := s.RequestPairing(t.Context(), chat.PairingRequest{Code: "OWNER"}, chat.PairingRule{Limit: 1})
	s.must(err)
	var mu sync.Mutex
	var winners []chat.EntityID
	var all sync.WaitGroup
	for n := range 8 {
		p := person(chat.EntityID(fmt.Sprint("person ", n)))
		all.Go(func() {
			owns, err := s.SetOwner(context.WithoutCancel(t.Context()), p)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if owns {
				winners = append(winners, p.ID)
			}
		})
	}
	all.Wait()
	if len(winners) != 1 {
		t.Fatalf("the owners are %v; want one", winners)
	}
	owner, err := s.Owner(t.Context())
	s.must(err)
	s.same("the owner", owner.ID, winners[0])
	people, err := s.People(t.Context())
	s.must(err)
	s.same("the number of approved people", len(people), 1)
	waiting, err := s.PairingRequests(t.Context())
	s.must(err)
	s.same("the pending requests", waiting, []chat.PairingRequest{})
	s.must(s.Approve(t.Context(), person(owner.ID)))
	owner, err = s.Owner(t.Context())
	s.must(err)
	s.same("the owner, approved again", owner.ID, winners[0])
}

func peopleDismissed(t *testing.T, s store) {
	s.fails(s.RemoveUser(t.Context(), "ada"), chat.ErrNotFound)
	owns, err := s.SetOwner(t.Context(), person("ada"))
	s.must(err)
	s.same("Ada is the owner", owns, true)
	s.must(s.RemoveUser(t.Context(), "ada"))
	_, err = s.Person(t.Context(), "ada")
	s.fails(err, chat.ErrNotFound)
	owns, err = s.SetOwner(t.Context(), person("bob"))
	s.must(err)
	s.same("then Bob is", owns, true)
	_, _, err = s.RequestPairing(t.Context(), request("eve", "E"), chat.PairingRule{Limit: 1})
	s.must(err)
	s.must(s.RemoveUser(t.Context(), "eve"))
	waiting, err := s.PairingRequests(t.Context())
	s.must(err)
	s.same("the pending requests", waiting, []chat.PairingRequest{})
}

func requestAgain(t *testing.T, s store) {
	rule := chat.PairingRule{Limit: 5, RepeatAfter: 10 * time.Minute}
	first := request("eve", "FIRST")
	got, tell, err := s.RequestPairing(t.Context(), first, rule)
	s.must(err)
	first.Told = time.Now().UTC()
	s.same("the first time", got, first)
	s.same("she is told", tell, true)
	for _, c := range []struct {
		after time.Duration
		tell  bool
	}{{9 * time.Minute, false}, {time.Minute, true}, {time.Minute, false}} {
		time.Sleep(c.after)
		got, tell, err = s.RequestPairing(t.Context(), request("eve", "OTHER"), rule)
		s.must(err)
		s.same("the code", got.Code, "FIRST")
		s.same("she is told again", tell, c.tell)
	}
	waiting := require.Value(s.PairingRequests(t.Context()))(s.t)
	s.same("the pending requests", waiting, []chat.PairingRequest{got})
}

func requestEnds(t *testing.T, s store) {
	rule := chat.PairingRule{Limit: 1}
	_, _, err := s.RequestPairing(t.Context(), request("eve", "FIRST"), rule)
	s.must(err)
	time.Sleep(time.Hour)
	waiting := require.Value(s.PairingRequests(t.Context()))(s.t)
	s.same("the pending requests", waiting, []chat.PairingRequest{})
	got, tell, err := s.RequestPairing(t.Context(), request("mallory", "SECOND"), rule)
	s.must(err)
	s.same("the next", got.Code, "SECOND")
	s.same("is told", tell, true)
	owner := chat.PairingRequest{Code: "OWNER"}
	_, _, err = s.RequestPairing(t.Context(), owner, rule)
	s.must(err)
	time.Sleep(1000 * time.Hour)
	got, _, err = s.RequestPairing(t.Context(), chat.PairingRequest{Code: "OTHER"}, rule)
	s.must(err)
	s.same("the open record", got.Code, "OWNER")
}

func requestFew(t *testing.T, s store) {
	rule := chat.PairingRule{Limit: 2}
	for _, id := range []chat.EntityID{"a", "b", "c"} {
		got, tell, err := s.RequestPairing(t.Context(), request(id, string(id)), rule)
		s.must(err)
		s.same("waits "+string(id), got.Code != "" && tell, id != "c")
	}
	other := request("d", "d")
	other.Address.Connector = "other"
	got, _, err := s.RequestPairing(t.Context(), other, rule)
	s.must(err)
	s.same("elsewhere", got.Code, "d")
	got, _, err = s.RequestPairing(t.Context(), request("a", "x"), rule)
	s.must(err)
	s.same("a request while one is pending", got.Code, "a")
}

func requestRejected(t *testing.T, s store) {
	rule := chat.PairingRule{Limit: 1}
	s.fails(s.Reject(t.Context(), ""), chat.ErrNotFound)
	_, _, err := s.RequestPairing(t.Context(), chat.PairingRequest{Code: "OWNER"}, chat.PairingRule{Limit: 1})
	s.must(err)
	s.fails(s.Reject(t.Context(), "OWNER"), chat.ErrNotFound)
	_, _, err = s.RequestPairing(t.Context(), request("eve", "FIRST"), rule)
	s.must(err)
	s.fails(s.Reject(t.Context(), "OTHER"), chat.ErrNotFound)
	s.must(s.Reject(t.Context(), "FIRST"))
	s.fails(s.Reject(t.Context(), "FIRST"), chat.ErrNotFound)
	s.fails(s.Reject(t.Context(), ""), chat.ErrNotFound)
	waiting := require.Value(s.PairingRequests(t.Context()))(s.t)
	s.same("the number of pending requests", len(waiting), 1)
	s.same("the pending requests", waiting[0].Code, "OWNER")
	time.Sleep(59 * time.Minute)
	got, tell, err := s.RequestPairing(t.Context(), request("eve", "SECOND"), rule)
	s.must(err)
	s.same("she gets a code", got.Code, "")
	s.same("she is told", tell, false)
	got, tell, err = s.RequestPairing(t.Context(), request("mallory", "M"), rule)
	s.must(err)
	s.same("she doesn't replace another request", got.Code == "M" && tell, true)
	time.Sleep(time.Hour)
	got, tell, err = s.RequestPairing(t.Context(), request("eve", "THIRD"), rule)
	s.must(err)
	s.same("later she may request again", got.Code == "THIRD" && tell, true)
	_, _, err = s.RequestPairing(t.Context(), request("ada", "A"), chat.PairingRule{Limit: 9})
	s.must(err)
	s.must(s.Reject(t.Context(), "A"))
	s.must(s.Approve(t.Context(), person("ada")))
	s.must(s.RemoveUser(t.Context(), "ada"))
	got, tell, err = s.RequestPairing(t.Context(), request("ada", "B"), chat.PairingRule{Limit: 9})
	s.must(err)
	s.same("the request of a person who was approved and removed", got.Code == "B" && tell, true)
}
