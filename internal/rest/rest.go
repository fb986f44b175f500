// Package rest waits for a time without holding up the end of a context.
package rest

import (
	"context"
	"time"
)

// Every begins a round of a loop now and then each time d passes, until ctx ends. A round that takes longer lets the times in it pass.
func Every(ctx context.Context, d time.Duration) func(round func() bool) {
	return func(round func() bool) {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for round() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// For returns after d, or with the cause of ctx when that ends first.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
