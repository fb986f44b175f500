package rest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The first round is at once, the others come at their times, and the end of the context ends the loop.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		begin := time.Now()
		rounds := 0
		for range Every(ctx, 10*time.Second) {
			if at := time.Since(begin); at != time.Duration(rounds)*10*time.Second {
				t.Errorf("round %d is after %v", rounds, at)
			}
			rounds++
			time.Sleep(3 * time.Second)
		}
		if passed := time.Since(begin); rounds != 3 || passed != 25*time.Second {
			t.Errorf("there were %d rounds in %v", rounds, passed)
		}
	})
}
