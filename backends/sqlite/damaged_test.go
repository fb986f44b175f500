package sqlite

import (
	"context"
	"strings"
	"testing"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// A damaged row is an error wherever it stands, not a panic of the caller.
func TestDamagedMessageAnywhereIsAnError(t *testing.T) {
	for damaged := 1; damaged <= 30; damaged++ {
		s := open(t, migrated(t, "parley.db"))
		for n := range 30 {
			if _, err := s.Accept(t.Context(), message("a", n), chat.JoinRule{NoRun: true}); err != nil {
				t.Fatal(err)
			}
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
