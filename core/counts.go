package core

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// counts are what [Runtime.Counts] tells.
type counts struct{ undecided, providers, evaluators, skipped atomic.Uint64 }

// Counts says how often something was left out that a turn can do without.
type Counts struct {
	Undecided  uint64 // questions whether to answer whose answer could not be read
	Providers  uint64 // providers that failed, broke or were late
	Evaluators uint64 // evaluators and summaries that failed or broke
	Skipped    uint64 // those that found no free hands
}

// Counts is what was counted since the start.
func (rt *Runtime) Counts() Counts {
	c := &rt.counts
	return Counts{c.undecided.Load(), c.providers.Load(), c.evaluators.Load(), c.skipped.Load()}
}

// String lists what there was, for the log; it is empty if there was nothing.
func (c Counts) String() string {
	var all []string
	for _, kind := range []struct {
		n    uint64
		what string
	}{
		{c.Providers, "providers failed or were late"},
		{c.Undecided, "decisions unreadable"},
		{c.Evaluators, "evaluators failed"},
		{c.Skipped, "evaluators skipped under load"},
	} {
		if kind.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", kind.n, kind.what))
		}
	}
	return strings.Join(all, ", ")
}
