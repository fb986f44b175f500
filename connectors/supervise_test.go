package connectors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"parley/connectors"
)

// A token that any request finds rejected ends what runs with it, for good.
func TestRevocationEndsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rejected := errors.New("get a new token")
		r := connectors.NewRevocation(rejected)
		if r.Err() != nil {
			t.Errorf("a new token is revoked: %v", r.Err())
		}
		ended := make(chan error, 1)
		go func() {
			ended <- r.Watch(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				return nil
			})
		}()
		synctest.Wait()
		r.Revoke()
		r.Revoke()
		wantFatal(t, <-ended, rejected)
		if !errors.Is(r.Err(), rejected) {
			t.Errorf("it is not revoked: %v", r.Err())
		}
		wantFatal(t, r.Watch(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}), rejected)
	})
}

func TestRevocationReturnsWhatRunReturns(t *testing.T) {
	rejected, other := errors.New("get a new token"), errors.New("the network is down")
	r := connectors.NewRevocation(rejected)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, want := range []error{nil, other} {
		if err := r.Watch(ctx, func(context.Context) error { return want }); err != want {
			t.Errorf("Watch returned %v; want %v", err, want)
		}
	}
	wantFatal(t, r.Watch(t.Context(), func(context.Context) error { return errors.Join(other, rejected) }), rejected)
}

func wantFatal(t *testing.T, err, reason error) {
	t.Helper()
	if fatal := (connectors.Fatal{}); !errors.As(err, &fatal) || !errors.Is(err, reason) {
		t.Errorf("Watch returned %v; want it to be fatal", err)
	}
}
