package web

import (
	"log/slog"
	"sync"
	"time"
)

// failuresApart is the shortest time between two log lines about the same failure.
const failuresApart = time.Minute

// failures logs internal errors of requests: each kind at most once a minute, with the number of those that were left
// out since. Otherwise every visitor's request would write a line while the store is away. It is safe for concurrent use.
type failures struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[string]failed // by what failed: a few constants, so they need no bound
}

// failed is what happened to one kind.
type failed struct {
	logged  time.Time
	leftOut int // since then
}

func newFailures(log *slog.Logger) *failures { return &failures{log: log, kinds: map[string]failed{}} }

// note logs err, unless there was a line about what a moment ago.
func (f *failures) note(what string, err error) {
	now := time.Now()
	f.mu.Lock()
	k := f.kinds[what]
	silent := !k.logged.IsZero() && now.Sub(k.logged) < failuresApart
	if silent {
		k.leftOut++
		f.kinds[what] = k
	} else {
		f.kinds[what] = failed{logged: now}
	}
	f.mu.Unlock()
	if !silent {
		f.log.Error("a web request failed", "what", what, "err", err, "others_before", k.leftOut)
	}
}
