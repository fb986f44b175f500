package redis

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"parley/backends/inmem"
	"parley/core"
	"parley/core/chat"
)

// Tracker is a [core.Tracker]. Claims of this replica are checked locally, without delay; Redis stores the marks of all
// replicas, and announces changes. Marks only rise, so announcements that are late, repeated, lost or out of order do
// no harm. It is safe for concurrent use.
//
// Errors other than [chat.ErrSuperseded] and [chat.ErrStopped] mean that Redis did not respond within a second. The
// claim or stop still applies to this replica, and is sent to Redis once it is back.
type Tracker struct {
	circuit *circuit
	at      layout
	log     *slog.Logger
	local   *inmem.Tracker // the claims of this replica, and the marks that it has learned
	every   time.Duration  // how often keep checks; checkEvery
	check   chan struct{}  // asks keep for a check now; room for one request
	down    atomic.Bool    // the last check failed

	mu   sync.Mutex
	owed map[place]inmem.Marks // what could not be sent to Redis yet; guarded by mu
}

var _ core.Tracker = (*Tracker)(nil)

func newTracker(breaker *circuit, at layout, log *slog.Logger) *Tracker {
	return &Tracker{
		circuit: breaker, at: at, log: log,
		local: inmem.NewTracker(),
		every: checkEvery,
		check: make(chan struct{}, 1),
		owed:  map[place]inmem.Marks{},
	}
}

// Claim implements [core.Tracker]. If Redis did not respond, it returns the error together with a usable context, which
// is canceled by later turns on this replica, and by those of all replicas once Redis is back.
func (t *Tracker) Claim(ctx context.Context, agent chat.AgentID, room chat.RoomID, id chat.ResponseID) (context.Context, error) {
	// First locally, then in Redis: an announcement that arrives before the reply finds the claim and can cancel it.
	claimed, err := t.local.Claim(ctx, agent, room, id)
	if err != nil {
		// Refused locally. Redis may have a stronger reason, such as a stop, which Settle returns.
		return nil, t.Settle(ctx, agent, room, id)
	}
	m, err := t.ask(ctx, request{claimScript, place{agent, room}, id})
	if err != nil {
		return claimed, fmt.Errorf("redis: claim turn %d of %s: %w", id, room, err)
	}
	if err := m.Settle(id); err != nil {
		return nil, err
	}
	return claimed, nil
}

// Settle implements [core.Tracker].
func (t *Tracker) Settle(ctx context.Context, agent chat.AgentID, room chat.RoomID, id chat.ResponseID) error {
	m, err := t.ask(ctx, request{settleScript, place{agent, room}, id})
	here := t.local.Marks(agent, room) // Redis may have forgotten, or not have heard yet
	if over := here.Raised(m).Settle(id); over != nil || err == nil {
		return over
	}
	return fmt.Errorf("redis: settle turn %d of %s: %w", id, room, err)
}

// Stop implements [core.Tracker].
func (t *Tracker) Stop(ctx context.Context, agent chat.AgentID, room chat.RoomID, upTo chat.ResponseID) error {
	if err := t.local.Stop(ctx, agent, room, upTo); err != nil {
		return err
	}
	if _, err := t.ask(ctx, request{stopScript, place{agent, room}, upTo}); err != nil {
		return fmt.Errorf("redis: stop %s up to turn %d: %w", room, upTo, err)
	}
	return nil
}

// ask runs a script and applies its reply locally. If Redis doesn't respond, it records what Redis is owed.
func (t *Tracker) ask(ctx context.Context, q request) (inmem.Marks, error) {
	var m inmem.Marks
	err := t.circuit.do(ctx, func(ctx context.Context) (err error) {
		m, err = t.at.run(ctx, t.circuit.client, q)
		return err
	})
	if err != nil {
		t.owe(q)
		return m, err
	}
	t.local.Learn(q.agent, q.room, m)
	return m, nil
}

// owe records what the request would have raised, for keep to send. Only the greatest marks of a place matter, so this
// is bounded by the number of places that were used while Redis was unreachable.
func (t *Tracker) owe(q request) {
	m := q.mark()
	if m == (inmem.Marks{}) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owed[q.place] = t.owed[q.place].Raised(m)
}
