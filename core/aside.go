package core

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/quota"
	"parley/internal/contain"
)

// evaluateAt is the number of messages of a room after which evaluators are due. They ask a model, so not every turn is worth it.
const evaluateAt = 4

// startBackground does work of a room that no turn waits for, unless too much is queued already: then it is skipped and counted, and
// the first of a burst is logged. It is called while the room is served, so Run, which waits for the rooms, waits for this work, too.
func (rt *Runtime) startBackground(life context.Context, room chat.RoomID, do func(ctx context.Context)) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	ok, first := false, false
	if !rt.closed {
		ok, first = rt.evaluators.Start(life, room, do, rt.work.Go)
	}
	if !ok {
		rt.counts.Skipped.Add(1)
	}
	if first {
		rt.cfg.Log.Warn("evaluators are skipped: too many wait already", "skipped_since_start", rt.counts.Skipped.Load())
	}
}

// evaluate starts the evaluators that want to see this turn, and the summary of what prompts had to leave out. Both happen after the answer
// is stored, and their failure changes nothing about it.
func (x *execution) evaluate(life context.Context) {
	if x.out.ID == "" || x.out.Failure != "" || x.out.Interrupted || x.turn.Run == "" {
		return
	}
	var evaluators []action.Evaluator
	for _, p := range x.rt.cfg.Plugins {
		evaluators = append(evaluators, p.Evaluators...)
	}
	due := x.due()
	evaluators = slices.DeleteFunc(evaluators, func(e action.Evaluator) bool {
		wanted := due && x.rt.composer.Serves(e)
		if asks, ok := e.(action.TurnEvaluator); ok {
			wanted = false
			_ = x.rt.attempt(life, e.Name(), func() error { wanted = asks.Wants(x.turn); return nil })
		}
		return !wanted
	})
	lost := x.prep.lost && x.rt.cfg.Models.SmallOrLarge() != nil
	if len(evaluators) == 0 && !lost {
		return
	}
	turn, said, info := x.turn, x.out, x.info
	x.rt.startBackground(life, x.run.Room, func(ctx context.Context) {
		defer quota.WaitSettled(ctx)
		if lost {
			_ = x.rt.attempt(ctx, "the summary", func() error { return x.rt.summarize(ctx, x.run) })
		}
		for _, e := range evaluators {
			x.rt.runEvaluator(ctx, e, info, turn, said)
		}
	})
}

// runEvaluator lets one evaluator look back on a turn.
func (rt *Runtime) runEvaluator(ctx context.Context, e action.Evaluator, info event.RunInfo, turn action.TurnContext, said chat.Memory) {
	begun := time.Now()
	rt.hub.Emit(event.EvaluatorStarted{RunInfo: info, Evaluator: e.Name()})
	err := rt.attempt(ctx, e.Name(), func() error { return e.Evaluate(ctx, turn, said) })
	done := event.EvaluatorCompleted{RunInfo: info, Evaluator: e.Name(), Duration: time.Since(begun)}
	if err != nil {
		done.Err = err.Error()
	}
	rt.hub.Emit(done)
}

// due reports whether a multiple of [evaluateAt] is among the turn numbers since the last turn after which evaluators could start. Turn
// numbers are stored, so this works across restarts and replicas without a counter. Commands, reactions, and turns that failed or were
// interrupted have numbers too: a multiple that falls on one of these counts for the next answer.
func (x *execution) due() bool {
	return int(x.run.Response%evaluateAt) < chat.TurnsSince(x.turn.Recent, x.rt.cfg.Agent.Entity(), x.run.Response)
}

// attempt calls do. A failure or a panic is counted, logged and returned.
func (rt *Runtime) attempt(ctx context.Context, what string, do func() error) error {
	err := contain.Call(what, do)
	if err != nil && !errors.Is(context.Cause(ctx), chat.ErrShutdown) {
		rt.counts.Evaluators.Add(1)
		rt.cfg.Log.Warn("a turn evaluator failed", "what", what, "err", err)
	}
	return err
}
