package essentials

import (
	"context"
	"encoding/json"

	"parley/core"
)

// actions are listed in the order in which models are told of them.
func actions(d Deps) []core.Action {
	var all []core.Action
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

// namedAction is a [core.Action] made of its parts.
type namedAction struct {
	spec      core.ActionSpec
	available func(core.TurnContext) bool // nil: everywhere
	act       func(context.Context, *core.Call) (core.Result, error)
}

// Spec implements [core.Action].
func (a namedAction) Spec() core.ActionSpec { return a.spec }

// Available implements [core.Conditional].
func (a namedAction) Available(s core.TurnContext) bool { return a.available == nil || a.available(s) }

// Act implements [core.Action].
func (a namedAction) Act(ctx context.Context, c *core.Call) (core.Result, error) {
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

// among says that others may read what is said.
func among(s core.TurnContext) bool { return !s.Private }

// named says that the asker is somebody whom the owner knows.
func named(s core.TurnContext) bool { return s.Owner || s.Allowed }
