package sqlite

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/core/chat"
)

// What the database refuses to write is an error, and nothing of it is written.
func TestRefusedWritesAreErrors(t *testing.T) {
	person := chat.Person{ID: "eve", Name: "Eve", Address: chat.Address{Connector: "c", Room: "r"}, Since: time.Now()}
	room := chat.Room{ID: "r", Kind: chat.Direct, Connector: "c", Created: time.Now()}
	for name, c := range map[string]struct {
		forbids string // as a trigger
		write   func(context.Context, *Store) error
	}{
		"a room":             {"INSERT ON rooms", func(ctx context.Context, s *Store) error { return s.SaveRoom(ctx, room) }},
		"a person":           {"INSERT ON people", func(ctx context.Context, s *Store) error { return s.Approve(ctx, person) }},
		"the end of a knock": {"DELETE ON knocks", func(ctx context.Context, s *Store) error { return s.Approve(ctx, person) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, migrated(t, "parley.db"))
			rule := chat.PairingRule{Limit: 3, RepeatAfter: time.Hour}
			knock := chat.PairingRequest{Code: "ABCD", Person: person, Ends: time.Now().Add(time.Hour)}
			if _, _, err := s.RequestPairing(t.Context(), knock, rule); err != nil {
				t.Fatal(err)
			}
			if _, err := s.writer.Exec(`CREATE TRIGGER refuses BEFORE ` + c.forbids + ` BEGIN SELECT raise(ABORT, 'refused here'); END`); err != nil {
				t.Fatal(err)
			}
			if err := c.write(t.Context(), s); err == nil || !strings.Contains(err.Error(), "refused here") {
				t.Errorf("it says %v", err)
			}
			if _, err := s.Person(t.Context(), "eve"); err == nil {
				t.Error("the person is let in")
			}
			if knocks, err := s.PairingRequests(t.Context()); err != nil || len(knocks) != 1 {
				t.Errorf("there are %d knocks, %v; want 1", len(knocks), err)
			}
		})
	}
}

// Of a room without an id nothing is stored.
func TestBadRoomIsAnError(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	if err := s.SaveRoom(t.Context(), chat.Room{Kind: chat.Direct, Connector: "c"}); err == nil {
		t.Error("SaveRoom accepted a room without an id; want an error")
	}
}
