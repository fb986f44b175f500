package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	pace = 100 * time.Millisecond // how often a watched answer is carried to other replicas
	ask  = 5 * time.Second        // how often a watcher asks whether there is more than it heard
	poll = 2 * time.Second        // how often a watcher asks the store whether the run has ended, bus or no bus
)

// live knows the answers that are being made or watched here.
type live struct {
	mu   sync.Mutex
	runs map[RunID]*liveRun
}

type liveRun struct {
	answer   *Answer
	epoch    Epoch // of what the answer holds; 0 nothing yet
	held     bool  // this process makes it
	watchers int
}

// hold gives the answer that a started run is written into: the one that people here wait for already, unless that
// mirrors what an earlier holder said.
func (l *live) hold(id RunID, epoch Epoch) *Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[id]
	if r == nil {
		r = &liveRun{answer: &Answer{}}
		l.runs[id] = r
	}
	if r.epoch != 0 {
		r.answer.Abandon()
		r.answer = &Answer{}
	}
	r.epoch, r.held = epoch, true
	return r.answer
}

// release lets an answer go that its maker is done with. If it has not ended, it goes on elsewhere.
func (l *live) release(id RunID, a *Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.Abandon()
	delete(l.runs, id)
}

// watch gives the answer of a run that is made here or elsewhere, or not yet.
func (l *live) watch(id RunID) *liveRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[id]
	if r == nil {
		r = &liveRun{answer: &Answer{}}
		l.runs[id] = r
	}
	r.watchers++
	return r
}

// unwatch forgets a run that nobody here makes or watches any more.
func (l *live) unwatch(id RunID, r *liveRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.watchers--; r.watchers == 0 && !r.held && l.runs[id] == r {
		delete(l.runs, id)
	}
}

// made says that r needs no mirror: it is, or was, made here.
func (l *live) made(id RunID, r *liveRun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return r.held || l.runs[id] != r
}

// mirror applies what another replica made of the run. It fails with [ErrLost] if this process makes it itself, or
// if the run was adopted meanwhile: then there is another answer to watch.
func (l *live) mirror(id RunID, r *liveRun, f Frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.held || l.runs[id] != r {
		return ErrLost
	}
	if r.epoch != 0 && f.Epoch > r.epoch {
		r.answer.Abandon()
		delete(l.runs, id)
		return ErrLost
	}
	if f.Epoch < r.epoch || f.From > r.answer.View().At {
		return nil // of a holder that lost the run; or a gap, which the next question fills
	}
	r.epoch = f.Epoch
	for _, c := range f.Changes {
		r.answer.Apply(c)
	}
	return nil
}

// Watch returns the answer of a run, to be followed until it has ended, wherever it is made; of a run that has ended,
// the whole. Where following fails with [ErrLost] the run has changed hands: watch again. [ErrNotFound] if there is
// no such run. The answer is kept up to date until ctx is done.
func (rt *Runtime) Watch(ctx context.Context, id RunID) (*Answer, error) {
	r := rt.live.watch(id)
	run, err := rt.cfg.Store.Run(ctx, id)
	switch {
	case err != nil:
		rt.live.unwatch(id, r)
		return nil, fmt.Errorf("watch %s: %w", id, err)
	case run.Outcome.Done():
		rt.live.unwatch(id, r)
		return rt.told(ctx, run)
	}
	if rt.live.made(id, r) {
		rt.live.unwatch(id, r)
		return r.answer, nil
	}
	a := r.answer
	rt.watching.Go(func() {
		defer rt.live.unwatch(id, r)
		rt.follow(ctx, run, r)
	})
	return a, nil
}

// told is the answer of a run that has ended, as it is remembered.
func (rt *Runtime) told(ctx context.Context, run Run) (*Answer, error) {
	a := &Answer{}
	m, err := rt.cfg.Store.Memory(ctx, run.Said())
	switch {
	case errors.Is(err, ErrNotFound): // it said nothing, or that was deleted
	case err != nil:
		return nil, fmt.Errorf("recall the answer of %s: %w", run.ID, err)
	default:
		a.tell(m.Text, m.History)
	}
	a.End(run.Outcome)
	return a, nil
}

// follow keeps the answer of a run up to date until ctx is done, the run has ended, or it is made here.
func (rt *Runtime) follow(ctx context.Context, run Run, r *liveRun) {
	hint, cancel := context.WithCancel(ctx)
	defer cancel()
	frames, err := rt.cfg.Bus.Subscribe(hint, run.Room)
	if err != nil {
		frames = nil // the store tells the end all the same
	}
	asking, polling := time.NewTicker(ask), time.NewTicker(poll)
	defer asking.Stop()
	defer polling.Stop()
	_ = rt.cfg.Bus.Publish(hint, run.Room, Frame{Run: run.ID})
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.answer.Ended():
			return
		case <-asking.C:
			_ = rt.cfg.Bus.Publish(hint, run.Room, Frame{Run: run.ID})
		case <-polling.C:
			if rt.overtaken(ctx, run.ID, r) {
				return
			}
		case f, ok := <-frames:
			if !ok {
				frames = nil
			} else if f.Run == run.ID && len(f.Changes) > 0 && rt.live.mirror(run.ID, r, f) != nil {
				return
			}
		}
	}
}

// overtaken says whether there is nothing to mirror any more: the run is made here, or the store knows its end and
// whoever watches had better ask again.
func (rt *Runtime) overtaken(ctx context.Context, id RunID, r *liveRun) bool {
	if rt.live.made(id, r) {
		return true
	}
	run, err := rt.cfg.Store.Run(ctx, id)
	if err != nil || !run.Outcome.Done() {
		return false
	}
	r.answer.Abandon()
	return true
}

// publish carries an answer that is made here to those who ask for it elsewhere, for as long as they ask.
func (rt *Runtime) publish(ctx context.Context, run Run, a *Answer) {
	frames, err := rt.cfg.Bus.Subscribe(ctx, run.Room)
	if err != nil {
		rt.cfg.Log.Warn("readers on other replicas see this answer only when it has ended", "run", run.ID, "err", err)
		return
	}
	var at Cursor
	var asked time.Time
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case f, ok := <-frames:
			if !ok {
				return
			}
			if f.Run != run.ID || len(f.Changes) > 0 {
				continue
			}
			tick.Reset(pace)
			asked, at = time.Now(), 0
		case <-tick.C:
			if time.Since(asked) > 2*ask {
				tick.Stop()
				continue
			}
		case <-ctx.Done():
			return
		}
		cs, next := a.Since(at)
		if len(cs) == 0 {
			continue
		}
		if err := rt.cfg.Bus.Publish(ctx, run.Room, Frame{run.ID, run.Epoch, at, cs}); err == nil {
			at = next
		}
	}
}
