package sqlite

import (
	"testing"

	"parley/core/chat"
	"parley/core/quota"
)

// SE-19, DI-13: a run that an earlier version has begun counts as counted, one that waits does not.
func TestCountedOfA661299(t *testing.T) {
	s := openWrittenByA661299(t)
	for run, want := range map[chat.RunID]int{"telegram/1/42#3": 0, "telegram/1/-7#3": 1} {
		charge := quota.Charge{Bucket: "bucket of " + string(run), Cost: quota.Cost{Messages: 1}}
		if _, err := s.Count(t.Context(), "2026-11-22", run, charge); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Spent(t.Context(), "2026-11-22", charge.Bucket); err != nil || got.Messages != want {
			t.Errorf("%s: %d messages are counted, %v; want %d", run, got.Messages, err, want)
		}
	}
}
