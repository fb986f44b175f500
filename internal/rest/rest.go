// Package rest waits for a time without holding up the end of a context.
package rest

import (
	"context"
	"time"
)

// For returns after d, or with the cause of ctx when that ends first.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
