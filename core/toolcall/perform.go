package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/panics"
)

const (
	actLimit    = time.Minute     // how long an action may take that says nothing of it
	cancelGrace = 5 * time.Second // how long it may go on after that, or after it was cut off, before it is left behind
)

var errSlow = errors.New("the action took too long")

// perform runs an action, and tells observers of its start and of its end.
func (tc *Calls) perform(ctx context.Context, t *action.Tool, c llm.ToolCall, params json.RawMessage) (action.Result, error) {
	info, start := event.ActionInfo{RunInfo: tc.Info, Call: c.ID, Action: t.Def.Name, Parameters: params}, time.Now()
	tc.Emit(event.ActionStarted{ActionInfo: info})
	r, err := tc.do(ctx, t, tc.call(ctx, c, params))
	end := event.ActionCompleted{ActionInfo: info, Duration: time.Since(start), Status: answer.Completed, Result: event.ActionOutput(r)}
	if err != nil {
		end.Status, end.Result, end.Err = answer.Failed, event.ActionOutput{}, forModel(err)
	}
	if cause := context.Cause(ctx); cause != nil && err != nil {
		end.Status = chat.StatusOf(cause)
	}
	tc.Emit(end)
	return r, err
}

// do runs an action within its time. A panic fails this call alone. One that does not heed its context is
// left behind: it can't be ended, and nothing waits for it.
func (tc *Calls) do(ctx context.Context, t *action.Tool, c *action.Call) (action.Result, error) {
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
		o.error = panics.Call("the action", func() (err error) {
			o.Result, err = t.Act(ctx, c)
			return err
		})
		done <- o
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
	var panicked *panics.Error
	switch {
	case errors.As(err, &panicked):
		return "the action panicked"
	case errors.Is(err, errSlow), errors.Is(err, context.DeadlineExceeded):
		return errSlow.Error()
	}
	return err.Error()
}
