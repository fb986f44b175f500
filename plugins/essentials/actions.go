package essentials

import (
	"context"
	"encoding/json"

	"parley/core"
)

// actions are listed in the order in which models are told of them.
func actions(d Deps) []core.Action {
	var all []core.Action
	var paint []action
	if d.Painter != nil {
		paint = []action{generateImage(d.Painter)}
	}
	var note []action
	if d.People != nil {
		note = []action{updateEntity(d.People)}
	}
	var set []action
	if d.Settings != nil {
		set = []action{updateSettings(d.Settings, d.Rooms)}
	}
	for _, group := range [][]action{turnActions(d.Rooms), roomActions(d.Rooms), {sendMessage(d.Rooms), createPost(d.Rooms), chooseOption()}, note, set, paint} {
		for _, a := range group {
			all = append(all, a)
		}
	}
	return all
}

// action is a [core.Action] made of its parts.
type action struct {
	spec    core.ActionSpec
	offered func(core.Scene) bool // nil: everywhere
	act     func(context.Context, *core.Call) (core.Result, error)
}

// Spec implements [core.Action].
func (a action) Spec() core.ActionSpec { return a.spec }

// Offered implements [core.Offerer].
func (a action) Offered(s core.Scene) bool { return a.offered == nil || a.offered(s) }

// Act implements [core.Action].
func (a action) Act(ctx context.Context, c *core.Call) (core.Result, error) { return a.act(ctx, c) }

// object is the schema of parameters with these properties, in JSON.
func object(properties string, required ...string) json.RawMessage {
	if required == nil {
		required = []string{}
	}
	names, _ := json.Marshal(required) // strings only
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(names) + `,"additionalProperties":false}`)
}

// among says that others may read what is said.
func among(s core.Scene) bool { return !s.Private }

// named says that the asker is somebody whom the owner knows.
func named(s core.Scene) bool { return s.Owner || s.Allowed }
