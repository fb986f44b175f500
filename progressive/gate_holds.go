package progressive

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const (
	longHold = time.Minute     // shorter holds are over by the time a process has restarted, and are not stored
	saveTime = 5 * time.Second // limit for storing one
)

// Holds persists long holds across restarts, so that a restart doesn't violate them. Its methods are safe for
// concurrent use.
type Holds interface {
	// Holds returns the ends of the holds in effect, by scope.
	Holds(ctx context.Context) (map[string]time.Time, error)
	// SaveHold stores that scope is closed until then, and replaces an earlier hold.
	SaveHold(ctx context.Context, scope string, until time.Time) error
}

// WithHoldStore starts the gate with the stored holds, and stores every hold longer than a minute. A hold that can't be
// stored is logged, and applies to this process only.
func WithHoldStore(ctx context.Context, h Holds, log *slog.Logger) (GateOption, error) {
	ends, err := h.Holds(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for holds: %w", err)
	}
	return func(g *MemoryGate) {
		g.holds, g.log, g.storedHolds = h, log, map[Scope]time.Time{}
		for name, until := range ends {
			g.storedHolds[Scope(name)] = until
		}
	}, nil
}

// save stores a hold that applies already. It is called without the lock, because it waits for the store.
func (g *MemoryGate) save(scope Scope, until time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	if err := g.holds.SaveHold(ctx, string(scope), until); err != nil {
		g.log.Error("a rate-limit hold can't be saved and is lost if this process ends", "scope", scope, "until", until, "err", err)
	}
}
