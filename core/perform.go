package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/event"
	"parley/core/llm"
)

const (
	actLimit    = time.Minute     // how long an action may take that says nothing of it
	cancelGrace = 5 * time.Second // how long it may go on after that, or after it was cut off, before it is left behind
)

var (
	errPanic = errors.New("the action panicked")
	errSlow  = errors.New("the action took too long")
)

// perform runs an action, and tells observers of its start and of its end.
func (tc *toolCalls) perform(ctx context.Context, t *action.Tool, c llm.ToolCall, params json.RawMessage) (action.Result, error) {
	info, start := event.ActionInfo{RunInfo: tc.x.info, Call: c.ID, Action: t.Def.Name, Parameters: params}, time.Now()
	tc.x.rt.hub.Emit(event.ActionStarted{ActionInfo: info})
	r, err := tc.do(ctx, t, tc.call(ctx, c, params))
	end := event.ActionCompleted{ActionInfo: info, Duration: time.Since(start), Status: answer.Completed, Result: event.ActionOutput(r)}
	if err != nil {
		end.Status, end.Result, end.Err = answer.Failed, event.ActionOutput{}, forModel(err)
	}
	if cause := context.Cause(ctx); cause != nil && err != nil {
		end.Status = statusOf(cause)
	}
	tc.x.rt.hub.Emit(end)
	return r, err
}

// do runs an action within its time. A panic fails this call alone. One that does not heed its context is
// left behind: it can't be ended, and nothing waits for it.
func (tc *toolCalls) do(ctx context.Context, t *action.Tool, c *action.Call) (action.Result, error) {
	limit := t.Def.Limit
	if limit == 0 {
		limit = actLimit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	type outcome struct {
		action.Result
		error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{error: fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())}
			}
			done <- o
		}()
		o.Result, o.error = t.Act(ctx, c)
	}()
	select {
	case o := <-done:
		return o.Result, o.error
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.Result, o.error
	case <-time.After(cancelGrace):
		return action.Result{}, fmt.Errorf("abandoned: %w", context.Cause(ctx))
	}
}

// forModel is what the model is told of an action's error: it may repeat it to people, so no stack.
func forModel(err error) string {
	switch {
	case errors.Is(err, errPanic):
		return errPanic.Error()
	case errors.Is(err, errSlow), errors.Is(err, context.DeadlineExceeded):
		return errSlow.Error()
	}
	return err.Error()
}
