package parley

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// A check that takes too long says what to do, in words for people.
func TestCheckInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := part{"it", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", fmt.Errorf("ask https://a.example: %w", ctx.Err())
		}}
		f := silent.try(t.Context())
		if f.OK || f.Text != "ask https://a.example: no answer in time; check that it is up, and that this machine can reach it" {
			t.Errorf("%+v", f)
		}
	})
	if text := inTime("context deadline exceeded; check the key"); strings.Contains(text, "deadline") || strings.Count(text, "check") != 1 {
		t.Error(text)
	}
}
