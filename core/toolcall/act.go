package toolcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/contain"
	"parley/internal/lang"
)

// Tools returns the actions that are offered in this turn, in the plugins' order: a prompt that stays the same is
// cached by providers.
func (tc *Calls) Tools() (specs []action.Spec) {
	for _, t := range tc.Toolbox.All {
		if !t.Def.Unlisted && tc.Offers(t, *tc.Turn) {
			specs = append(specs, t.Def)
		}
	}
	return specs
}

// Act makes one call and returns the result for the model. The call always reaches its end, except after
// [chat.ErrParked]: then it is made again when the run continues. Any other error ends the run: it has lost the room,
// or the journal. A call that is invalid, refused or fails is not an error: the model receives the reason, and may
// correct it.
//
// The order matters. The call is checked first, then approved or confirmed, then journaled if it writes, then made, and
// then its result is recorded. After a crash before the journal entry, the call was not made; after a later crash, it
// may have been.
func (tc *Calls) Act(ctx context.Context, c llm.ToolCall) (result string, err error) {
	end, files := answer.Tool{Stage: answer.StageEnd}, []llm.File(nil)
	defer func() {
		// A parked call is made later, so it has no end yet.
		if !errors.Is(err, chat.ErrParked) {
			tc.Stage(c, end, files...)
		}
	}()
	t, params, problem := tc.find(ctx, c)
	if ctx.Err() != nil {
		end.Error, end.Parameters = lang.Say(ctx, "tool.cancelled"), string(params)
		return "", context.Cause(ctx)
	}
	// A doubtful call is not made, for example one with truncated parameters.
	if problem != "" {
		end.Error, end.Result = lang.Say(ctx, "tool.invalid"), problem // the reason can repeat parameters, so it is for the model and for owners
		notMade := action.Acted{Action: text.Brief(c.Name, action.MaxName), Parameters: c.Parameters, Err: problem, NotMade: true}
		tc.Acted = append(tc.Acted, notMade)
		return notMade.ForModel(), nil
	}
	tc.block(c, 0).Describe(t.Def)
	end.Parameters = string(params)
	writes := t.Def.Effect.Changes()
	made, refused, err := tc.ask(ctx, c, t, params)
	if err != nil {
		end.Error = lang.Say(ctx, "tool.cancelled")
		return "", err
	}
	if refused != "" {
		end.Error, end.Result = lang.Say(ctx, "tool.refused"), refused // the reason can contain the words of an approver: it is for the model and for owners
		done := action.Acted{Action: t.Def.Name, Parameters: params, Err: refused}
		tc.Acted = append(tc.Acted, done)
		return done.ForModel(), tc.record(c, done, false)
	}
	end.Parameters = string(made)
	during := ctx
	if writes {
		during, err = tc.beginWriting(ctx, c)
	} else {
		err = tc.Risk.Begin(toolRisk)
	}
	if err != nil { // without a context of the call
		end.Error = lang.Say(ctx, "tool.cancelled")
		return "", err
	}
	ctx = during
	tc.Stage(c, answer.Tool{Stage: answer.StageRunning, Parameters: string(made)})
	began := time.Now()
	r, failure := tc.perform(ctx, t, c, made)
	end.Duration = time.Since(began)
	if writes {
		tc.Risk.Set("") // the note of its end follows
	} else if err := tc.Risk.Begin(""); err != nil {
		return "", err
	}
	r = text.CleanAll(r)
	// The turn was interrupted. A call that succeeded all the same is recorded as such.
	if cause := context.Cause(ctx); cause != nil && failure != nil {
		end.Error = lang.Say(ctx, "tool.interrupted")
		return "", cause
	}
	done := action.Acted{Action: t.Def.Name, Parameters: params, Result: r}
	if !bytes.Equal(made, params) {
		done.Made = made
	}
	done.Result.Text = answer.LimitResult(r.Text)
	if failure != nil {
		tc.Log.Warn("an action failed", "run", tc.Run.ID, "action", t.Def.Name, "err", failure)
		end.Error, end.Detail = forPeople(lang.Of(ctx), failure)
		done.Result, done.Err = action.Result{}, answer.LimitResult(text.Clean(forModel(failure)))
	} else {
		end.Success, end.Result, end.ShortResult, files = true, r.Text, r.Short, llm.Showable(r.Files)
		if n := len(r.Files) - len(files); n > 0 {
			done.Result.Text += fmt.Sprintf("\n[%d of the files can't be shown: they are empty or larger than %d MiB]", n, llm.MaxFile>>20)
		}
	}
	tc.Acted = append(tc.Acted, done)
	return done.ForModel(), tc.record(c, done, writes)
}

// toolRisk is the risk of a run while a tool runs, see [chat.Note].
const toolRisk = "tool"

// Over reports whether an action has requested the end of the turn: its output is the answer.
func (tc *Calls) Over() bool {
	for _, a := range tc.Acted {
		if a.Result.Last {
			return true
		}
	}
	return false
}

// RequireOutput returns [chat.ErrNothingToSay] if nothing was said or shown, and nil otherwise.
func (tc *Calls) RequireOutput() error {
	if v := tc.Answer.View().Remembered(); strings.TrimSpace(v.Text()) == "" && len(v.Files()) == 0 {
		return chat.ErrNothingToSay
	}
	return nil
}

// beginWriting starts a writing action only if the turn still has the room. From then on it is not canceled: the
// returned context is that of the process. The text so far is journaled too: a process that adopts the run shows that
// text, and generates nothing. It fails with the errors of [Journal].
func (tc *Calls) beginWriting(ctx context.Context, c llm.ToolCall) (context.Context, error) {
	if err := tc.Journal.Settle(); err != nil {
		return nil, err
	}
	n := chat.Note{Acting: c.ID, Text: tc.Answer.View().Remembered().Text()}
	tc.acting = c.ID
	tc.Risk.Set(toolRisk)
	return tc.Life, tc.Journal.Note(ctx, n)
}

// record stores the result of a call unless its action is quiet, and journals the end of a writing call. If the
// question was deleted meanwhile, the result is not stored either. The id of the memory contains the epoch, because a
// run that was started again makes calls with the same ids. It fails with the errors of [Journal].
func (tc *Calls) record(c llm.ToolCall, done action.Acted, wrote bool) error {
	m := chat.Memory{
		ID: chat.MemoryID(fmt.Sprintf("%s/%d/%s", tc.Run.ID, tc.Run.Epoch, action.ShortID(c.ID))), Kind: chat.ActionResult, Room: tc.Run.Room,
		Author: tc.Turn.Agent.Entity(), Name: tc.Turn.Agent.Name, Text: done.ForModel(), InReplyTo: tc.Turn.Message.ID, At: time.Now(),
		Actions: []string{done.Action},
	}
	if done.Err != "" {
		m.Failure = llm.ActionFailed
	}
	t := tc.Toolbox.Find(c.Name)
	if t == nil || !t.Def.Quiet {
		if err := tc.Journal.Remember(tc.Life, m); err != nil {
			return fmt.Errorf("remember %s: %w", m.ID, err)
		}
	}
	if !wrote {
		return nil
	}
	return tc.Journal.Note(tc.Life, chat.Note{Acted: c.ID})
}

// find resolves c. It waits for an action that does not exist yet: its server may be starting, for example after a
// restart.
func (tc *Calls) find(ctx context.Context, c llm.ToolCall) (t *action.Tool, params json.RawMessage, problem string) {
	t, params, problem = tc.resolve(call{c, false})
	if problem == "" || tc.Await == nil || ctx.Err() != nil {
		return t, params, problem
	}
	now, err := tc.Await(ctx, *tc.Turn, c.Name, c.Parameters)
	if err != nil {
		problem = "Nothing was done: " + err.Error() + "."
		tc.call(ctx, c, c.Parameters).Update("⚠️ " + problem) // in place of the text of the approval
		return nil, nil, problem
	}
	tc.UseToolbox(now)
	return tc.resolve(call{c, false})
}

// resolve returns the action and its checked parameters, or the problem of the call, for the model. A delegate's
// parameters name another action; that action is checked in its place, and can't be a delegate itself.
func (tc *Calls) resolve(c call) (*action.Tool, json.RawMessage, string) {
	t := tc.Toolbox.Find(c.Name)
	if t == nil || !tc.Offers(t, *tc.Turn) {
		return nil, nil, fmt.Sprintf("There is no action %q.", c.Name)
	}
	params := bytes.TrimSpace(c.Parameters)
	if len(params) == 0 {
		if t.Def.Effect.Changes() && t.HasParameters() { // they may have been truncated before their first byte
			return nil, nil, "The parameters are missing. If there are none, write {}."
		}
		params = []byte("{}")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(params, &object); err != nil || object == nil {
		return nil, nil, "The parameters are not a complete JSON object."
	}
	if err := t.Check(params); err != nil {
		return nil, nil, "The parameters are invalid: " + err.Error()
	}
	if d, ok := t.Action.(action.Delegate); ok && !c.Delegated {
		name, inner, err := d.Delegated(params)
		if err != nil {
			return nil, nil, err.Error()
		}
		return tc.resolve(call{llm.ToolCall{ID: c.ID, Name: name, Parameters: text.CleanJSON(inner)}, true})
	}
	return t, params, ""
}

// call is a call of the model, or the call that a delegate stands for.
type call struct {
	llm.ToolCall
	Delegated bool
}

// guarded returns the approval that a call requires, or nil. If the action's own check fails, the call requires an
// approval.
func (tc *Calls) guarded(ctx context.Context, c llm.ToolCall, t *action.Tool, params json.RawMessage) (a *action.Approval) {
	g, ok := t.Action.(action.Guarded)
	if !ok {
		return nil
	}
	err := contain.Call("the action", func() error {
		a = g.Guard(tc.call(ctx, c, params))
		return nil
	})
	if err != nil { // a doubtful call is not made
		tc.Log.Error("an action failed to check a call", "run", tc.Run.ID, "action", t.Def.Name, "err", err)
		return &action.Approval{Tool: t.Def.Name}
	}
	return a
}

// ask asks users before a call that requires it: for an approval, for the action's own consent, or for the confirmation
// of a call that may be a quote. They are asked once: after an approval or a consent a user has seen the call. made are the parameters, which an approver
// can have changed; refused is the reason why it can't be made, empty if it can. It fails with the errors of [Approver] and [action.Consenting].
func (tc *Calls) ask(ctx context.Context, c llm.ToolCall, t *action.Tool, params json.RawMessage) (made json.RawMessage, refused string, err error) {
	if a := tc.guarded(ctx, c, t, params); a != nil {
		if tc.Approvals == nil {
			return nil, "It needs an approval, and no one can be asked.", nil
		}
		call := tc.call(ctx, c, params)
		asked, refused, err := tc.Approvals.Approve(ctx, call, t, *a)
		if asked || refused != "" || err != nil {
			return call.Parameters, refused, err
		}
	}
	if asked, refused, err := tc.consents(ctx, c, t, params); asked || refused != "" || err != nil {
		return params, refused, err
	}
	if tc.doubtful(ctx, c, t, params) {
		refused, err = tc.confirm(ctx, c, t, params)
	}
	return params, refused, err
}

// consents lets an action ask for consent itself. If it fails, the call is refused.
func (tc *Calls) consents(ctx context.Context, c llm.ToolCall, t *action.Tool, params json.RawMessage) (asked bool, refused string, err error) {
	g, ok := t.Action.(action.Consenting)
	if !ok {
		return false, "", nil
	}
	failed := contain.Call("the action", func() (err error) {
		asked, refused, err = g.Consent(ctx, tc.call(ctx, c, params))
		return err
	})
	switch {
	case errors.Is(failed, chat.ErrParked):
		return false, "", failed
	case failed != nil && ctx.Err() != nil:
		return false, "", context.Cause(ctx)
	case failed != nil: // nothing runs on a doubt
		tc.Log.Error("an action failed to ask for consent", "run", tc.Run.ID, "action", t.Def.Name, "err", failed)
		return false, "The user could not be asked.", nil
	}
	return asked, refused, nil
}
