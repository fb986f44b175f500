package essentials

import (
	"context"
	"encoding/json"

	"parley/core/action"
)

// actions are listed in the order in which models are told of them.
func actions(d Deps) []action.Action {
	var all []action.Action
	var paint []namedAction
	if d.Painter != nil {
		paint = []namedAction{generateImage(d.Painter)}
	}
	var note []namedAction
	if d.People != nil {
		note = []namedAction{updateEntity(d.People)}
	}
	var set []namedAction
	if d.Settings != nil {
		set = []namedAction{updateSettings(d.Settings, d.Rooms)}
	}
	for _, group := range [][]namedAction{turnActions(d.Rooms), roomActions(d.Rooms), {sendMessage(d.Rooms), createPost(d.Rooms), chooseOption()}, note, set, paint} {
		for _, a := range group {
			all = append(all, a)
		}
	}
	return all
}

// namedAction is a [action.Action] made of its parts.
type namedAction struct {
	spec      action.Spec
	available func(action.TurnContext) bool // nil: everywhere
	act       func(context.Context, *action.Call) (action.Result, error)
}

// Spec implements [action.Action].
func (a namedAction) Spec() action.Spec { return a.spec }

// Available implements [action.Conditional].
func (a namedAction) Available(s action.TurnContext) bool {
	return a.available == nil || a.available(s)
}

// Act implements [action.Action].
func (a namedAction) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	return a.act(ctx, c)
}

// object is the schema of parameters with these properties, in JSON.
func object(properties string, required ...string) json.RawMessage {
	if required == nil {
		required = []string{}
	}
	names, _ := json.Marshal(required) // strings only
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(names) + `,"additionalProperties":false}`)
}

// among reports whether other people can read the conversation.
func among(s action.TurnContext) bool { return !s.Private }

// named reports whether the author is the owner or a known user.
func named(s action.TurnContext) bool { return s.Owner || s.Allowed }
