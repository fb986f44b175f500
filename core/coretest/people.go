package coretest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/core/chat"
)

func peopleChecks() []storeCheck {
	return []storeCheck{
		{"who is let in stays", peopleLetIn},
		{"of two who claim it, one is the owner", peopleOneOwner},
		{"who goes may come back", peopleDismissed},
		{"a knock keeps its code, and is told now and then", knockAgain},
		{"a knock ends", knockEnds},
		{"few wait at a time, for each connector", knockFew},
		{"who was turned away hears nothing until the knock ends", knockTurnedAway},
	}
}

func person(id chat.EntityID) chat.Person {
	return chat.Person{
		ID: id, Name: "the " + string(id), Since: time.Now().UTC(),
		Address: chat.Address{Connector: "fake", Room: chat.RoomID("fake/" + id), ConnectorData: []byte{0, 0xff}},
	}
}

func knocking(id chat.EntityID, code string) chat.PairingRequest {
	return chat.PairingRequest{Person: person(id), Code: code, Ends: time.Now().Add(time.Hour).UTC()}
}

func peopleLetIn(t *testing.T, s store) {
	_, err := s.Person(t.Context(), "ada")
	s.fails(err, chat.ErrNotFound)
	_, _, err = s.Knock(t.Context(), knocking("ada", "A"), chat.PairingRule{Limit: 1})
	s.must(err)
	ada, bob := person("ada"), person("bob")
	ada.Owner = true // which is not how one becomes it
	s.must(s.LetIn(t.Context(), ada))
	ada.Owner = false
	time.Sleep(time.Hour)
	s.must(s.LetIn(t.Context(), bob))
	s.must(s.LetIn(t.Context(), chat.Person{ID: "ada", Name: "Ada", Since: time.Now(), Address: bob.Address}))
	ada.Name, ada.Address = "Ada", bob.Address
	all, err := s.People(t.Context())
	s.must(err)
	s.same("the people", all, []chat.Person{ada, bob})
	got, err := s.Person(t.Context(), "ada")
	s.must(err)
	s.same("one of them", got, ada)
	waiting, err := s.Knocks(t.Context())
	s.must(err)
	s.same("who waits", waiting, []chat.PairingRequest{})
	_, err = s.Owner(t.Context())
	s.fails(err, chat.ErrNotFound)
}

func peopleOneOwner(t *testing.T, s store) {
	_, _, err := s.Knock(t.Context(), chat.PairingRequest{Code: "OWNER"}, chat.PairingRule{Limit: 1})
	s.must(err)
	var mu sync.Mutex
	var winners []chat.EntityID
	var all sync.WaitGroup
	for n := range 8 {
		p := person(chat.EntityID(fmt.Sprint("person ", n)))
		all.Go(func() {
			owns, err := s.Own(context.WithoutCancel(t.Context()), p)
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
		t.Fatalf("the owners are %v", winners)
	}
	owner, err := s.Owner(t.Context())
	s.must(err)
	s.same("the owner", owner.ID, winners[0])
	people, err := s.People(t.Context())
	s.must(err)
	s.same("how many were let in", len(people), 1)
	waiting, err := s.Knocks(t.Context())
	s.must(err)
	s.same("who waits", waiting, []chat.PairingRequest{})
	s.must(s.LetIn(t.Context(), person(owner.ID)))
	owner, err = s.Owner(t.Context())
	s.must(err)
	s.same("the owner, let in again", owner.ID, winners[0])
}

func peopleDismissed(t *testing.T, s store) {
	s.fails(s.Dismiss(t.Context(), "ada"), chat.ErrNotFound)
	owns, err := s.Own(t.Context(), person("ada"))
	s.must(err)
	s.same("Ada is the owner", owns, true)
	s.must(s.Dismiss(t.Context(), "ada"))
	_, err = s.Person(t.Context(), "ada")
	s.fails(err, chat.ErrNotFound)
	owns, err = s.Own(t.Context(), person("bob"))
	s.must(err)
	s.same("then Bob is", owns, true)
	_, _, err = s.Knock(t.Context(), knocking("eve", "E"), chat.PairingRule{Limit: 1})
	s.must(err)
	s.must(s.Dismiss(t.Context(), "eve"))
	waiting, err := s.Knocks(t.Context())
	s.must(err)
	s.same("who waits", waiting, []chat.PairingRequest{})
}

func knockAgain(t *testing.T, s store) {
	rule := chat.PairingRule{Limit: 5, RepeatAfter: 10 * time.Minute}
	first := knocking("eve", "FIRST")
	got, tell, err := s.Knock(t.Context(), first, rule)
	s.must(err)
	first.Told = time.Now().UTC()
	s.same("the first time", got, first)
	s.same("she is told", tell, true)
	for _, c := range []struct {
		after time.Duration
		tell  bool
	}{{9 * time.Minute, false}, {time.Minute, true}, {time.Minute, false}} {
		time.Sleep(c.after)
		got, tell, err = s.Knock(t.Context(), knocking("eve", "OTHER"), rule)
		s.must(err)
		s.same("the code", got.Code, "FIRST")
		s.same("she is told again", tell, c.tell)
	}
	waiting, err := s.Knocks(t.Context())
	s.must(err)
	s.same("who waits", waiting, []chat.PairingRequest{got})
}

func knockEnds(t *testing.T, s store) {
	rule := chat.PairingRule{Limit: 1}
	_, _, err := s.Knock(t.Context(), knocking("eve", "FIRST"), rule)
	s.must(err)
	time.Sleep(time.Hour)
	waiting, err := s.Knocks(t.Context())
	s.must(err)
	s.same("who waits", waiting, []chat.PairingRequest{})
	got, tell, err := s.Knock(t.Context(), knocking("mallory", "SECOND"), rule)
	s.must(err)
	s.same("the next", got.Code, "SECOND")
	s.same("is told", tell, true)
	owner := chat.PairingRequest{Code: "OWNER"}
	_, _, err = s.Knock(t.Context(), owner, rule)
	s.must(err)
	time.Sleep(1000 * time.Hour)
	got, _, err = s.Knock(t.Context(), chat.PairingRequest{Code: "OTHER"}, rule)
	s.must(err)
	s.same("what has no end", got.Code, "OWNER")
}

func knockFew(t *testing.T, s store) {
	rule := chat.PairingRule{Limit: 2}
	for _, id := range []chat.EntityID{"a", "b", "c"} {
		got, tell, err := s.Knock(t.Context(), knocking(id, string(id)), rule)
		s.must(err)
		s.same("waits "+string(id), got.Code != "" && tell, id != "c")
	}
	other := knocking("d", "d")
	other.Address.Connector = "other"
	got, _, err := s.Knock(t.Context(), other, rule)
	s.must(err)
	s.same("elsewhere", got.Code, "d")
	got, _, err = s.Knock(t.Context(), knocking("a", "x"), rule)
	s.must(err)
	s.same("who waits already", got.Code, "a")
}

func knockTurnedAway(t *testing.T, s store) {
	rule := chat.PairingRule{Limit: 1}
	s.fails(s.TurnAway(t.Context(), ""), chat.ErrNotFound)
	_, _, err := s.Knock(t.Context(), chat.PairingRequest{Code: "OWNER"}, chat.PairingRule{Limit: 1})
	s.must(err)
	s.fails(s.TurnAway(t.Context(), "OWNER"), chat.ErrNotFound)
	_, _, err = s.Knock(t.Context(), knocking("eve", "FIRST"), rule)
	s.must(err)
	s.fails(s.TurnAway(t.Context(), "OTHER"), chat.ErrNotFound)
	s.must(s.TurnAway(t.Context(), "FIRST"))
	s.fails(s.TurnAway(t.Context(), "FIRST"), chat.ErrNotFound)
	s.fails(s.TurnAway(t.Context(), ""), chat.ErrNotFound)
	waiting, err := s.Knocks(t.Context())
	s.must(err)
	s.same("how many wait", len(waiting), 1)
	s.same("who waits", waiting[0].Code, "OWNER")
	time.Sleep(59 * time.Minute)
	got, tell, err := s.Knock(t.Context(), knocking("eve", "SECOND"), rule)
	s.must(err)
	s.same("she gets a code", got.Code, "")
	s.same("she is told", tell, false)
	got, tell, err = s.Knock(t.Context(), knocking("mallory", "M"), rule)
	s.must(err)
	s.same("she doesn't replace another request", got.Code == "M" && tell, true)
	time.Sleep(time.Hour)
	got, tell, err = s.Knock(t.Context(), knocking("eve", "THIRD"), rule)
	s.must(err)
	s.same("later she may knock again", got.Code == "THIRD" && tell, true)
	_, _, err = s.Knock(t.Context(), knocking("ada", "A"), chat.PairingRule{Limit: 9})
	s.must(err)
	s.must(s.TurnAway(t.Context(), "A"))
	s.must(s.LetIn(t.Context(), person("ada")))
	s.must(s.Dismiss(t.Context(), "ada"))
	got, tell, err = s.Knock(t.Context(), knocking("ada", "B"), chat.PairingRule{Limit: 9})
	s.must(err)
	s.same("who was let in after all and dismissed may knock", got.Code == "B" && tell, true)
}
