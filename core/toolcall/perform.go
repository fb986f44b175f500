package toolcall

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/contain"
	"parley/internal/lang"
	"parley/internal/trace"
)

const (
	actLimit    = time.Minute     // the time limit of an action that has none of its own
	cancelGrace = 5 * time.Second // the grace period after that limit or a cancellation; then its goroutine is abandoned
)

var errSlow = errors.New("the action took too long")

// perform runs an action, and reports its start and its end to observers. A failure while ctx is done counts as that of
// ctx: a stop is no failure of the action. It fails with the error of the action.
func (tc *Calls) perform(ctx context.Context, t *action.Tool, c llm.ToolCall, params json.RawMessage) (action.Result, error) {
	info, start := event.ActionInfo{RunInfo: tc.Info, Call: c.ID, Action: t.Def.Name, Parameters: params}, time.Now()
	info.Span = tc.Info.Trace.At(c.ID, start)
	ctx = trace.With(ctx, info.Span)
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

// do runs an action within its time limit. A panic fails only this call. An action that ignores its context is
// abandoned after cancelGrace: Go can't end a goroutine from outside. It fails with the error of the action.
func (tc *Calls) do(ctx context.Context, t *action.Tool, c *action.Call) (action.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(t.Def.Limit, actLimit), errSlow)
	defer cancel()
	return contain.Await(ctx, func(act func()) { go act() }, "the action", cancelGrace, func() (action.Result, error) { return t.Act(ctx, c) })
}

// forPeople returns the text of an action's error for users, and whether it is only for users who see the details of
// calls.
func forPeople(v lang.Voice, err error) (said string, detail bool) {
	var public *action.PublicError
	if errors.As(err, &public) {
		if said := text.OneLine(text.Clean(public.Text), maxPublic); said != "" {
			return said, public.Detail
		}
	}
	return v.Say("tool.failed"), false
}

const maxPublic = 300 // maximum length of an error for users, in characters

// forModel returns an action's error for the model. The model may repeat it to users, so it contains no stack of a
// panic.
func forModel(err error) string {
	var panicked *contain.Panic
	switch {
	case errors.As(err, &panicked):
		return "the action panicked"
	case errors.Is(err, errSlow), errors.Is(err, context.DeadlineExceeded):
		return errSlow.Error()
	}
	return err.Error()
}
