package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/progressive"
)

// Hold implements [progressive.SharedBudget]. It only records the hold and wakes keep, which publishes it.
func (l *Ledger) Hold(scope progressive.Scope, until time.Time) {
	l.mu.Lock()
	if until.After(l.holds[scope]) {
		l.holds[scope] = until
	}
	l.mu.Unlock()
	l.checkSoon()
}

// checkSoon asks keep to publish the holds and announce this replica, without waiting for it.
func (l *Ledger) checkSoon() {
	select {
	case l.more <- struct{}{}:
	default: // keep is already asked to
	}
}

// tell publishes all holds of this replica, also those published before: Redis may have lost them, or never received
// them. The script keeps the later end, so repeating it is harmless.
func (l *Ledger) tell(ctx context.Context) error {
	ends := l.held(time.Now())
	for some := range slices.Chunk(slices.Sorted(maps.Keys(ends)), batch) {
		var keys []string
		var args []any
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

// held returns the holds that have not ended, and deletes the others.
func (l *Ledger) held(now time.Time) map[progressive.Scope]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.holds, func(_ progressive.Scope, until time.Time) bool { return !until.After(now) })
	return maps.Clone(l.holds)
}
