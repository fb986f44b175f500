package contain_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/contain"
	"parley/internal/require"
	"parley/internal/subtest"
)

func TestCall(t *testing.T) {
	broken := errors.New("broken")
	if err := contain.Call("it", func() error { return broken }); err != broken {
		t.Errorf("an error becomes %v; want %v", err, broken)
	}
	err := contain.Call("the plugin", func() error { panic("no way") })
	var p *contain.Panic
	if !errors.As(err, &p) || p.Value != "no way" || !strings.HasPrefix(err.Error(), "the plugin panicked: no way\n") || !strings.Contains(err.Error(), "TestCall") {
		t.Errorf("a panic becomes %v", err)
	}
}

// A result that was there before a panic goes: the error takes the place of any other.
func TestRecover(t *testing.T) {
	f := func() (err error) {
		defer contain.Recover(&err, "the plugin")
		err = errors.New("earlier")
		panic("no way")
	}
	var p *contain.Panic
	if err := f(); !errors.As(err, &p) {
		t.Errorf("the error is %v", err)
	}
}

// A call that ends within the grace is waited for; one that does not is left behind.
func TestAwait(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		want  error
	}{"in time": {time.Second, nil}, "within the grace": {6 * time.Second, nil}, "never": {time.Hour, errLate}} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			var late sync.WaitGroup
			ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, errLate)
			defer cancel()
			got, err := contain.Await(ctx, late.Go, "it", 2*time.Second, func() (int, error) {
				time.Sleep(c.takes)
				return 1, nil
			})
			if !errors.Is(err, c.want) || (err == nil) != (got == 1) {
				t.Errorf("it returned %d, %v", got, err)
			}
			require.NoError(t, contain.Wait(t.Context(), late.Wait))
		}))
	}
}

var errLate = errors.New("late")

func TestAwaitPanic(t *testing.T) {
	var p *contain.Panic
	if _, err := contain.Await(t.Context(), func(f func()) { go f() }, "it", 0, func() (int, error) { panic("no way") }); !errors.As(err, &p) {
		t.Errorf("a panic becomes %v", err)
	}
}

// A result that was there in time counts, also if it is asked for after the end of the context.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, errLate)
		defer cancel()
		start := func(f func()) { go f() }
		for range 20 { // the choice between what is ready is random
			wait := contain.Begin(ctx, start, "it", 0, func() (int, error) {
				time.Sleep(time.Second)
				return 1, nil
			})
			time.Sleep(10 * time.Second)
			if got, err := wait(); got != 1 || err != nil {
				t.Fatalf("it returned %d, %v; want 1", got, err)
			}
		}
	})
}
