package redis

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

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

	mu     sync.Mutex
	unsent map[place]inmem.Marks // marks that could not be sent to Redis yet; guarded by mu
}

func newTracker(breaker *circuit, at layout, log *slog.Logger) *Tracker {
	return &Tracker{
		circuit: breaker, at: at, log: log,
		local:  inmem.NewTracker(),
		every:  checkEvery,
		check:  make(chan struct{}, 1),
		unsent: map[place]inmem.Marks{},
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

// ask runs a script and applies its reply locally. If Redis doesn't respond, it records the marks for later.
func (t *Tracker) ask(ctx context.Context, q request) (inmem.Marks, error) {
	var m inmem.Marks
	err := t.circuit.do(ctx, func(ctx context.Context) (err error) {
		m, err = t.at.run(ctx, t.circuit.client, q)
		return err
	})
	if err != nil {
		t.recordUnsent(q)
		return m, err
	}
	t.local.Learn(q.agent, q.room, m)
	return m, nil
}

// recordUnsent records the marks of the request, for keep to send. Only the greatest marks of a place matter, so this
// is bounded by the number of places that were used while Redis was unreachable.
func (t *Tracker) recordUnsent(q request) {
	m := q.mark()
	if m == (inmem.Marks{}) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unsent[q.place] = t.unsent[q.place].Raised(m)
}

// keep claims the held turns again, every t.every and after each new connection of the listener, until ctx is done.
// The replies show turns whose announcement was lost, the claims keep the marks from expiring, and Redis gets back the
// marks that it lost or never received.
func (t *Tracker) keep(ctx context.Context) {
	tick := time.NewTicker(t.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.check:
		}
		err := t.reassert(ctx)
		if ctx.Err() != nil {
			return
		}
		if down := err != nil; t.down.Swap(down) != down && down {
			t.log.Warn("redis: can't check the claimed turns", "err", err)
		}
	}
}

// checkSoon asks keep for a check, without waiting for it.
func (t *Tracker) checkSoon() {
	select {
	case t.check <- struct{}{}:
	default: // keep is already asked to
	}
}

// reassert sends all that is due, in batches. If nothing is, it finds out whether an outage has ended.
func (t *Tracker) reassert(ctx context.Context) error {
	due := t.due()
	if len(due) == 0 && t.down.Load() {
		return t.circuit.ping(ctx)
	}
	for some := range slices.Chunk(due, batch) {
		if err := t.tell(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// due returns the requests that bring Redis up to date: a claim for each turn that is held here, and marks that could
// not be sent before.
func (t *Tracker) due() []request {
	var all []request
	for _, h := range t.local.Held() {
		all = append(all, request{claimScript, place{h.Agent, h.Room}, h.ID})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, m := range t.unsent {
		if m.Latest > 0 {
			all = append(all, request{claimScript, p, m.Latest})
		}
		if m.Stopped > 0 {
			all = append(all, request{stopScript, p, m.Stopped})
		}
	}
	return all
}

// tell sends the requests in one round trip, and applies the replies. One that fails doesn't keep the others from being
// applied. A server that was restarted doesn't have the scripts any more: they are loaded and the requests sent once
// more.
func (t *Tracker) tell(ctx context.Context, all []request) error {
	return t.circuit.do(ctx, func(ctx context.Context) error {
		failed := t.pipeline(ctx, all)
		if goredis.HasErrorPrefix(failed, "NOSCRIPT") {
			if err := t.load(ctx); err != nil {
				return err
			}
			failed = t.pipeline(ctx, all)
		}
		return failed
	})
}

// pipeline sends the requests and applies the replies. It returns the first error.
func (t *Tracker) pipeline(ctx context.Context, all []request) (failed error) {
	pipe := t.circuit.client.Pipeline()
	cmds := make([]*goredis.Cmd, len(all))
	for i, q := range all {
		cmds[i] = q.script.EvalSha(ctx, pipe, t.at.keys(q), t.at.args(q)...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, q := range all {
		m, err := marks(cmds[i])
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		t.local.Learn(q.agent, q.room, m)
		t.removeSent(q)
	}
	return failed
}

// load sends the scripts that due uses to the server.
func (t *Tracker) load(ctx context.Context) error {
	for _, s := range []*goredis.Script{claimScript, stopScript} {
		if err := s.Load(ctx, t.circuit.client).Err(); err != nil {
			return err
		}
	}
	return nil
}

// removeSent removes the marks of a sent request from those to send. Marks that were added meanwhile are greater, as marks
// only rise, and stay.
func (t *Tracker) removeSent(q request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.unsent[q.place]
	if !ok {
		return
	}
	told := q.mark()
	if m.Latest <= told.Latest {
		m.Latest = 0
	}
	if m.Stopped <= told.Stopped {
		m.Stopped = 0
	}
	if m == (inmem.Marks{}) {
		delete(t.unsent, q.place)
		return
	}
	t.unsent[q.place] = m
}

var _ core.Tracker = (*Tracker)(nil)

const (
	checkEvery = time.Second // the longest time until a lost announcement is noticed
	batch      = 128         // requests in one round trip
)
