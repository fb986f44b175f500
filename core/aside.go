package core

import (
	"context"
	"errors"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/contain"
)

const (
	backgroundSlots = 2           // how much is done beside the answers at a time; what finds no slot is left out
	backgroundLimit = time.Minute // how long each may take
	evaluateAt      = 4           // every how many turns of a room evaluators look back
)

// backgroundWork is work that no turn waits for: evaluators and summaries. It belongs to the rooms being served, whose end
// [Runtime.Run] waits for.
type backgroundWork struct {
	busy map[chat.RoomID]bool // under the runtime's lock; at most asideSlots
}

// startBackground does background work of a room, unless there is too much of that already. It is called while the room
// is served.
func (rt *Runtime) startBackground(life context.Context, room chat.RoomID, do func(ctx context.Context)) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.bgWork.busy[room] || len(rt.bgWork.busy) >= backgroundSlots || rt.closed {
		rt.counts.Skipped.Add(1)
		return
	}
	if rt.bgWork.busy == nil {
		rt.bgWork.busy = map[chat.RoomID]bool{}
	}
	rt.bgWork.busy[room] = true
	rt.work.Go(func() {
		defer func() {
			rt.mu.Lock()
			defer rt.mu.Unlock()
			delete(rt.bgWork.busy, room)
		}()
		ctx, cancel := context.WithTimeoutCause(life, backgroundLimit, chat.ErrTimeout)
		defer cancel()
		do(ctx)
	})
}

// evaluate lets the evaluators look back on an answered turn now and then, and sums up what prompts had to leave out.
func (x *execution) evaluate(life context.Context) {
	if x.out.ID == "" || x.out.Failure != "" || x.out.Interrupted || x.turn.Run == "" {
		return
	}
	var evaluators []action.Evaluator
	for _, p := range x.rt.cfg.Plugins {
		evaluators = append(evaluators, p.Evaluators...)
	}
	if !x.due() {
		evaluators = nil
	}
	lost := x.prep.lost && x.rt.cfg.Models.SmallOrLarge() != nil
	if len(evaluators) == 0 && !lost {
		return
	}
	turn, said := x.turn, x.out
	x.rt.startBackground(life, x.run.Room, func(ctx context.Context) {
		if lost {
			x.rt.attempt(ctx, "the summary", func() error { return x.rt.summarize(ctx, x.run) })
		}
		for _, e := range evaluators {
			x.rt.attempt(ctx, e.Name(), func() error { return e.Evaluate(ctx, turn, said) })
		}
	})
}

// due reports whether among the messages since the agent last spoke is one of every few. It needs no memory.
func (x *execution) due() bool {
	since := 0
	for i := len(x.turn.Recent) - 1; i >= 0 && x.turn.Recent[i].Author != x.rt.cfg.Agent.Entity(); i-- {
		since++
	}
	return int(x.run.Response%evaluateAt) < max(since, 1)
}

// attempt does one thing. Its failure, also a panic, is logged and ends nothing else.
func (rt *Runtime) attempt(ctx context.Context, what string, do func() error) {
	if err := contain.Call(what, do); err != nil && !errors.Is(context.Cause(ctx), chat.ErrShutdown) {
		rt.counts.Evaluators.Add(1)
		rt.cfg.Log.Warn("a turn evaluator failed", "what", what, "err", err)
	}
}
