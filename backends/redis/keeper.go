package redis

import (
	"cmp"
	"context"
	"slices"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"parley/backends/inmem"
)

const (
	checkEvery = time.Second // the longest time for which the loss of an announcement goes unnoticed
	batch      = 128         // requests in one round trip
)

// keep claims again what is held, every t.every and after each new connection of the listener, until ctx is done.
// The replies show turns whose announcement was lost, the claims keep the marks from expiring, and Redis gets back what
// it lost or never received.
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

// due returns the requests that bring Redis up to date: a claim for each turn that is held here, and what could not be
// sent before.
func (t *Tracker) due() []request {
	var all []request
	for _, h := range t.local.Held() {
		all = append(all, request{claimScript, place{h.Agent, h.Room}, h.ID})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, m := range t.owed {
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
		t.paid(q)
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

// paid removes what a request has told Redis from what it is owed. What was added meanwhile is greater, as marks only
// rise, and stays.
func (t *Tracker) paid(q request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.owed[q.place]
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
		delete(t.owed, q.place)
		return
	}
	t.owed[q.place] = m
}
