package generate

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/llm"
)

func table() *ModelTable {
	return NewModelTable([]llm.Named{
		{Name: "a", Fallback: []string{"b", "c", "gone"}}, {Name: "b", Fallback: []string{"d", "a"}}, {Name: "c"}, {Name: "d"}, {Name: "alone"},
	})
}

// way is the names of the models in the order in which a route asks them, if each fails with err.
func way(r *Route, err error) (names []string) {
	for {
		names = append(names, r.Current().Name)
		if !r.Next(err) {
			return names
		}
	}
}

func overloaded(after time.Duration) error {
	return &llm.Failure{Kind: llm.RateLimited, Retry: true, After: after}
}

func TestEachModelIsAskedOnce(t *testing.T) {
	for name, want := range map[string][]string{"": {"a", "b", "c", "d"}, "removed": {"a", "b", "c", "d"}, "b": {"b", "d", "a", "c"}, "alone": {"alone"}} {
		if got := way(table().Route(name), overloaded(0)); !slices.Equal(got, want) {
			t.Errorf("from %q: %q; want %q", name, got, want)
		}
	}
}

// A model that could not do better either is not asked.
func TestFailuresOfTheQuestion(t *testing.T) {
	for want, err := range map[int]error{
		1: &llm.Failure{Kind: llm.PromptTooLong},
		4: &llm.Failure{Kind: llm.ConversationTooLong},
	} {
		if got := way(table().Route("a"), err); len(got) != want {
			t.Errorf("%v: %q; want %v", err, got, want)
		}
	}
	if got := way(table().Route("a"), context.Canceled); len(got) != 1 {
		t.Errorf("cancelled: %q; want 1", got)
	}
	if got := way(table().Route("a"), errors.Join(llm.ErrStalled)); len(got) != 4 {
		t.Errorf("stalled: %q; want 4", got)
	}
}

// An overloaded model is left alone for as long as it said, and still asked if nothing else is left.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := table()
		all.Route("a").Next(overloaded(20 * time.Second))
		if r := all.Route("a"); r.Current().Name != "b" || !r.Replaced() {
			t.Errorf("it asks %q", r.Current().Name)
		}
		if got := way(all.Route("a"), overloaded(0)); !slices.Equal(got, []string{"b", "c", "d", "a"}) {
			t.Errorf("it asks %q", got)
		}
		time.Sleep(21 * time.Second)
		if r := all.Route("a"); r.Current().Name != "a" || r.Replaced() {
			t.Errorf("later it asks %q", r.Current().Name)
		}
	})
}

// A model that fails again and again is left alone for longer and longer, until it works.
func TestCircuitBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := table()
		broken := &llm.Failure{Kind: llm.ProviderIssue}
		fail := func() { all.failed("a", broken) }
		rests := func() (rest time.Duration) {
			for all.Route("a").Current().Name != "a" {
				time.Sleep(time.Second)
				rest += time.Second
			}
			return rest
		}
		fail()
		fail()
		if got := rests(); got != 0 {
			t.Errorf("after two failures it rests for %v; want none", got)
		}
		for _, want := range []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
			fail()
			if got := rests(); got != want {
				t.Errorf("it rests for %v, want %v", got, want)
			}
		}
		all.Route("a").Worked()
		fail()
		if got := rests(); got != 0 {
			t.Errorf("after it worked, it rests for %v; want none", got)
		}
	})
}
