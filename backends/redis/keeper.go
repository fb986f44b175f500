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
	checkEvery = time.Second // for as long as an announcement may be lost unnoticed
	batch      = 128         // requests on one round trip
)

// keep claims again what is held, at short intervals and after each new connection of the listener. That finds out what
// no announcement told, keeps the marks alive, and gives back to Redis what it forgot or never heard.
func (t *Tracker) keep(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	down := false
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
		if err != nil && !down {
			t.log.Warn("redis: can't check the claimed turns", "err", err)
		}
		down = err != nil
	}
}

// checkSoon asks keep for a check, without waiting for it.
func (t *Tracker) checkSoon() {
	select {
	case t.check <- struct{}{}:
	default: // asked already
	}
}

func (t *Tracker) reassert(ctx context.Context) error {
	for some := range slices.Chunk(t.due(), batch) {
		if err := t.tell(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// due is what Redis should know: all that is held here, and all that it could not be told.
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

// tell makes the requests on one round trip, and learns from the replies. One that fails doesn't keep it from the rest.
func (t *Tracker) tell(ctx context.Context, all []request) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	failed := t.pipeline(ctx, all)
	if goredis.HasErrorPrefix(failed, "NOSCRIPT") {
		if err := t.load(ctx); err != nil {
			return err
		}
		failed = t.pipeline(ctx, all)
	}
	return failed
}

// pipeline returns the first error.
func (t *Tracker) pipeline(ctx context.Context, all []request) (failed error) {
	pipe := t.client.Pipeline()
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

func (t *Tracker) load(ctx context.Context) error {
	for _, s := range []*goredis.Script{claimScript, stopScript} {
		if err := s.Load(ctx, t.client).Err(); err != nil {
			return err
		}
	}
	return nil
}

// paid forgets what Redis has been told, unless more came up meanwhile.
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
