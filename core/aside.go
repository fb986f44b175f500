package core

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

const (
	asideSlots = 2           // how much is done beside the answers at a time; what finds no slot is left out
	asideLimit = time.Minute // how long each may take
	evaluateAt = 4           // every how many turns of a room evaluators look back
)

// asides are what nobody waits for: looking back on a turn, summing up. They belong to the rooms being served, whose end
// [Runtime.Run] waits for.
type asides struct {
	busy map[RoomID]bool // under the runtime's lock; at most asideSlots
}

// aside does something of a room that nobody waits for, unless there is too much of that already. It is called while the room
// is served.
func (rt *Runtime) aside(life context.Context, room RoomID, do func(ctx context.Context)) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.asides.busy[room] || len(rt.asides.busy) >= asideSlots || rt.closed {
		rt.counts.skipped.Add(1)
		return
	}
	if rt.asides.busy == nil {
		rt.asides.busy = map[RoomID]bool{}
	}
	rt.asides.busy[room] = true
	rt.work.Go(func() {
		defer func() {
			rt.mu.Lock()
			defer rt.mu.Unlock()
			delete(rt.asides.busy, room)
		}()
		ctx, cancel := context.WithTimeoutCause(life, asideLimit, ErrTimeout)
		defer cancel()
		do(ctx)
	})
}

// lookBack lets the evaluators look back on an answered turn now and then, and sums up what prompts had to leave out.
func (x *execution) lookBack(life context.Context) {
	if x.out.ID == "" || x.out.Failure != "" || x.out.Interrupted || x.scene.Run == "" {
		return
	}
	var evaluators []Evaluator
	for _, p := range x.rt.cfg.Plugins {
		evaluators = append(evaluators, p.Evaluators...)
	}
	if !x.due() {
		evaluators = nil
	}
	if len(evaluators) == 0 && !x.lost {
		return
	}
	scene, said, lost := x.scene, x.out, x.lost
	x.rt.aside(life, x.run.Room, func(ctx context.Context) {
		if lost {
			x.rt.attempt(ctx, "the summary", func() error { return x.rt.sumUp(ctx, x.run) })
		}
		for _, e := range evaluators {
			x.rt.attempt(ctx, e.Name(), func() error { return e.Evaluate(ctx, scene, said) })
		}
	})
}

// due says that among the messages since the agent last spoke is one of every few. It needs no memory.
func (x *execution) due() bool {
	since := 0
	for i := len(x.scene.Recent) - 1; i >= 0 && x.scene.Recent[i].Author != x.rt.cfg.Agent.entity(); i-- {
		since++
	}
	return int(x.run.Response%evaluateAt) < max(since, 1)
}

// attempt does one thing. Its failure, a panic too, is logged and nobody else's.
func (rt *Runtime) attempt(ctx context.Context, what string, do func() error) {
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("it panicked: %v\n%s", p, debug.Stack())
			}
		}()
		return do()
	}()
	if err != nil && !errors.Is(context.Cause(ctx), ErrShutdown) {
		rt.counts.evaluators.Add(1)
		rt.cfg.Log.Warn("a turn evaluator failed", "what", what, "err", err)
	}
}

// leave waits for providers that go on after their time, but not long: nobody can end them.
func (rt *Runtime) leave() {
	done := make(chan struct{})
	go func() { rt.strays.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(hurry):
		rt.cfg.Log.Warn("a provider did not return in time and is ignored")
	}
}
