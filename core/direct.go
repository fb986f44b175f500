package core

import (
	"context"
	"encoding/json"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/contain"
)

// claimant returns the action that claims the turn before any model is asked, such as a player for "play …", and its parameters. Only a
// turn of one message can be claimed: other messages in it would stay without an answer.
func (pn *preparation) claimant(s action.TurnContext) (t *action.Tool, params json.RawMessage, ok bool) {
	if len(pn.x.run.Inputs) != 1 || s.Message.ID == "" {
		return nil, nil, false
	}
	for _, t := range pn.x.rt.toolbox.All {
		if m, is := t.Action.(action.Matcher); is && pn.x.rt.offers(t, s) {
			if params, ok := pn.match(t, m, s); ok {
				return t, params, true
			}
		}
	}
	return nil, nil, false
}

// match asks one action whether it claims the turn. If the action panics, it does not.
func (pn *preparation) match(t *action.Tool, m action.Matcher, s action.TurnContext) (params json.RawMessage, ok bool) {
	err := contain.Call("the action", func() error {
		params, ok = m.Match(s)
		return nil
	})
	if err != nil {
		pn.x.rt.cfg.Log.Error("an action failed to inspect a message", "run", pn.x.run.ID, "action", t.Def.Name, "err", err)
	}
	return params, ok
}

// brokenLine is the answer when the action that claimed the turn failed.
const brokenLine = "That didn't work. Please try again."

// direct has the action that claims the turn answer it, and returns [errTold] if one has. The answer is what the action has shown, or else
// its result.
func (pn *preparation) direct(ctx context.Context) error {
	t, params, ok := pn.claimant(pn.x.turn)
	if !ok {
		return nil
	}
	if err := pn.x.countAttempt(ctx); err != nil {
		return err
	}
	c := llm.ToolCall{ID: pn.x.toolCalls.NewID(""), Name: t.Def.Name, Parameters: params}
	pn.x.toolCalls.Stage(c, answer.Tool{Stage: answer.StageStart})
	if _, err := pn.x.toolCalls.Act(ctx, c); err != nil {
		return err
	}
	switch {
	case len(pn.x.toolCalls.Acted) == 0 || pn.x.toolCalls.Acted[0].Err != "":
		pn.x.answer.Apply(answer.Change{Kind: answer.Text, Text: brokenLine})
	case pn.x.toolCalls.RequireOutput() != nil:
		pn.x.answer.Apply(answer.Change{Kind: answer.Text, Text: pn.x.toolCalls.Acted[0].Result.Text})
	}
	if err := pn.x.toolCalls.RequireOutput(); err != nil {
		return err
	}
	return errTold
}
