package gatewaytest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"parley/core/chat"
	"parley/gatewaytest"
)

var errRefused = errors.New("refused")

// Of three effects, the second is the one with a fault. A killed process gets ErrCrashed from then on, and has no effect.
func TestFaultsOfTheSecondEffect(t *testing.T) {
	for name, c := range map[string]struct {
		set   func(*gatewaytest.Faults)
		made  []string // effects that were made
		began int      // and those that were counted
		fails [3]error
	}{
		"none":        {func(*gatewaytest.Faults) {}, []string{"a", "b", "c"}, 3, [3]error{}},
		"killed":      {(*gatewaytest.Faults).Kill, nil, 0, [3]error{chat.ErrCrashed, chat.ErrCrashed, chat.ErrCrashed}},
		"kill before": {func(f *gatewaytest.Faults) { f.Before(2, f.Kill) }, []string{"a"}, 2, [3]error{nil, chat.ErrCrashed, chat.ErrCrashed}},
		"kill after":  {func(f *gatewaytest.Faults) { f.After(2, f.Kill) }, []string{"a", "b"}, 2, [3]error{nil, chat.ErrCrashed, chat.ErrCrashed}},
		"kill next":   {func(f *gatewaytest.Faults) { f.BeforeNext(f.Kill) }, nil, 1, [3]error{chat.ErrCrashed, chat.ErrCrashed, chat.ErrCrashed}},
		"refused": {func(f *gatewaytest.Faults) {
			f.Refuse(func(effect string) error {
				if effect == "b" {
					return errRefused
				}
				return nil
			})
		}, []string{"a", "c"}, 3, [3]error{nil, errRefused, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			around := 0
			f := &gatewaytest.Faults{Around: func() { around++ }}
			c.set(f)
			var made []string
			for i, effect := range []string{"a", "b", "c"} {
				if err := f.Do(effect, func() error { made = append(made, effect); return nil }); !errors.Is(err, c.fails[i]) {
					t.Errorf("effect %s returned %v; want %v", effect, err, c.fails[i])
				}
			}
			if !slices.Equal(made, c.made) || around < 2*len(made) {
				t.Errorf("made %q, with %d calls of Around; want %q, and two calls for each", made, around, c.made)
			}
			if began := f.Effects(); len(began) != c.began {
				t.Errorf("the effects are %q; want %d", began, c.began)
			}
		})
	}
}

// Stop returns the error of the process each time, and a nil Faults has none.
func TestProcessReturnsItsErrorEachTime(t *testing.T) {
	p := gatewaytest.Start(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		return errRefused
	})
	p.Interrupt()
	for range 2 {
		if err := p.Stop(); !errors.Is(err, errRefused) {
			t.Errorf("Stop returned %v; want %v", err, errRefused)
		}
	}
	var none *gatewaytest.Faults
	if err := none.Do("a", func() error { return errRefused }); !errors.Is(err, errRefused) {
		t.Errorf("an effect without faults returned %v; want its own error", err)
	}
}
