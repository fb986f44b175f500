package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/progressive"
)

// Hold implements [progressive.SharedBudget].
func (l *Ledger) Hold(scope progressive.Scope, until time.Time) {
	l.mu.Lock()
	if until.After(l.holds[scope]) {
		l.holds[scope] = until
	}
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default: // it will be told in a moment
	}
}

// tell says again what is held: Redis may have forgotten it, or never heard.
func (l *Ledger) tell(ctx context.Context) error {
	ends := l.held(time.Now())
	for some := range slices.Chunk(slices.Sorted(maps.Keys(ends)), batch) {
		var keys []string
		args := []any{slowFor.Milliseconds()}
		for _, s := range some {
			keys = append(keys, l.at.scopeKeys(s)[1])
			args = append(args, millis(time.Until(ends[s])))
		}
		if err := l.run(ctx, holdScript, keys, args); err != nil {
			return fmt.Errorf("redis: publish holds: %w", err)
		}
	}
	return nil
}

// held is what is not over, and forgets the rest.
func (l *Ledger) held(now time.Time) map[progressive.Scope]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.holds, func(_ progressive.Scope, until time.Time) bool { return !until.After(now) })
	return maps.Clone(l.holds)
}
