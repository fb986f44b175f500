package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

const (
	actLimit  = time.Minute // how long an action may take
	maxResult = 64 << 10    // bytes of a result that the model is given (LM-08)
)

var errPanic = errors.New("the action broke")

// tools lists the actions for the model, in the plugins' order: a prompt that stays the same is cached by providers.
func (x *execution) tools() (specs []ActionSpec) {
	for _, p := range x.cfg.Plugins {
		for _, a := range p.Actions {
			specs = append(specs, a.Spec())
		}
	}
	return specs
}

// act makes one call and returns what the model is told of it. The call is brought to its end in every case. An error
// ends the run: it has lost the room, or the journal.
func (x *execution) act(ctx context.Context, c ToolCall) (result string, err error) {
	end := Tool{Stage: StageEnd}
	defer func() { x.stage(c, end) }()
	action, params, problem := x.resolve(c)
	if problem != "" { // LM-04, LM-05: nothing runs on a doubt; the model may do better
		end.Error = problem
		return "Error: " + problem, nil
	}
	end.Parameters = string(params)
	if ctx.Err() != nil {
		end.Error = tooLate
		return "", context.Cause(ctx)
	}
	writes := action.Spec().Effect == Writes
	if writes {
		if ctx, err = x.beginWriting(ctx, c); err != nil {
			end.Error = tooLate
			return "", err
		}
	}
	x.stage(c, Tool{Stage: StageRunning, Parameters: string(params)})
	r, failure := x.do(ctx, action, &Call{ID: c.ID, Parameters: params, answer: x.answer})
	if cause := context.Cause(ctx); cause != nil && failure != nil {
		end.Error = "It was interrupted."
		return "", cause
	}
	if failure != nil {
		x.cfg.Log.Warn("an action failed", "run", x.run.ID, "action", c.Name, "err", failure)
		end.Error = "It failed."
		result = "Error: " + forModel(failure)
	} else {
		end.Success, end.Result, end.ShortResult = true, r.Text, r.Short
		result = r.Text
	}
	if writes {
		if err := x.persist(x.life, func() error { return x.note(Note{Acted: c.ID}) }); err != nil {
			return "", err
		}
	}
	return limited(result), nil
}

// beginWriting starts a writing action only if the turn still has the room. From then on it is not cut off: the context
// is that of the process. What was said so far is noted too: whoever adopts the run says that, and generates nothing.
func (x *execution) beginWriting(ctx context.Context, c ToolCall) (context.Context, error) {
	if err := settled(x.settle()); err != nil {
		return nil, err
	}
	n := Note{Acting: c.ID, Text: x.answer.View().Text()}
	return x.life, x.persist(ctx, func() error { return x.note(n) })
}

// resolve finds the action and checks the parameters, or says what is wrong with the call.
func (x *execution) resolve(c ToolCall) (Action, json.RawMessage, string) {
	action := x.actions[c.Name]
	if action == nil {
		return nil, nil, fmt.Sprintf("There is no action %q.", c.Name)
	}
	params := bytes.TrimSpace(c.Parameters)
	if len(params) == 0 {
		params = []byte("{}")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(params, &object); err != nil || object == nil {
		return nil, nil, "The parameters are not a complete JSON object."
	}
	return action, params, ""
}

// do runs an action within its time. A panic is its own failure and nobody else's.
func (x *execution) do(ctx context.Context, a Action, c *Call) (r Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, actLimit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	return a.Act(ctx, c)
}

// forModel is what the model is told of an action's error: it may repeat it to people, so no stack.
func forModel(err error) string {
	if errors.Is(err, errPanic) {
		return errPanic.Error()
	}
	return err.Error()
}

// limited cuts a result that would crowd out the conversation.
func limited(s string) string {
	if len(s) <= maxResult {
		return s
	}
	cut := maxResult
	for cut > 0 && s[cut]&0xC0 == 0x80 { // not inside a rune
		cut--
	}
	return s[:cut] + "\n[cut: the result was longer]"
}
