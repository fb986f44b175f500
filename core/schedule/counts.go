package schedule

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// Counters count optional steps that turns skipped, and answers that waited too long, since the start of the process. They are safe for
// concurrent use.
type Counters struct{ Undecided, Providers, Evaluators, Skipped, Overdue atomic.Uint64 }

// Counts are the values of [Counters] at one time.
type Counts struct {
	Undecided  uint64 // decisions of the model whether to answer that could not be read
	Providers  uint64 // providers that failed, panicked or were late
	Evaluators uint64 // evaluators and summaries that failed or panicked
	Skipped    uint64 // evaluators and summaries that were not started, because too many were running
	Overdue    uint64 // runs that waited longer than a turn can take
}

// Now returns the current values.
func (c *Counters) Now() Counts {
	return Counts{c.Undecided.Load(), c.Providers.Load(), c.Evaluators.Load(), c.Skipped.Load(), c.Overdue.Load()}
}

// String lists the values that are not zero. It is empty if all are.
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
		{c.Overdue, "answers waited too long"},
	} {
		if kind.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", kind.n, kind.what))
		}
	}
	return strings.Join(all, ", ")
}
