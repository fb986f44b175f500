package sqlite

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// A damaged row is an error wherever it stands, not a panic of the caller.
func TestDamagedMessageAnywhereIsAnError(t *testing.T) {
	for damaged := 1; damaged <= 30; damaged++ {
		s := open(t, migrated(t, "parley.db"))
		for n := range 30 {
			require.Value(s.Accept(t.Context(), message("a", n), chat.JoinRule{NoRun: true}))(t)
		}
		require.NoError(t, s.write(t.Context(), damage(damaged)))
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("message %d of 30 is damaged: panic: %v", damaged, p)
				}
			}()
			if all, err := s.Recent(t.Context(), "a", chat.Said, 0, 64); err == nil {
				t.Errorf("the messages are %v", all)
			}
		}()
	}
}

// The bound of the cache is only as good as its estimates: up to 64 KiB of parameters and results are stored with an answer.
func TestEstimateCountsCalls(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	m := chat.Memory{Calls: []answer.PastCall{{ID: "1", Tool: answer.Tool{Result: long}}}}
	if n := bytesOf(m); n < len(long) {
		t.Errorf("an answer with a result of %d bytes counts as %d bytes", len(long), n)
	}
}

func damage(turn int) func(context.Context, *conn) error {
	return func(ctx context.Context, tx *conn) error {
		_, err := tx.ExecContext(ctx, `UPDATE memories SET content = '{"thought":' WHERE turn = ?`, turn)
		return err
	}
}

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
			require.Value(s.writer.Exec(`CREATE TRIGGER refuses BEFORE ` + c.forbids + ` BEGIN SELECT raise(ABORT, 'refused here'); END`))(t)
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
