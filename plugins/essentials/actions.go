package essentials

import (
	"context"
	"encoding/json"
	"slices"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/consent"
)

// actions returns the actions in the order of the prompt. The order is fixed for the provider's prompt
// cache.
func actions(d Deps) (all []action.Action) {
	named := slices.Concat(turnActions(d.Store), roomActions(d.Store), []namedAction{
		sendMessage(d.Store), createPost(d.Store), chooseOption(), updateEntity(d.Store), rememberFact(d), forgetFact(d), updateSettings(d.Store),
	})
	if d.Speaker != nil {
		named = append(named, speak(d.Speaker))
	}
	if d.ImageGenerator != nil {
		named = append(named, generateImage(d.ImageGenerator))
	}
	for _, a := range named {
		all = append(all, a)
		if a.spec.Name == "CHOOSE_OPTION" {
			all = append(all, consent.FormAction{})
		}
	}
	return all
}

// reading returns the act function of an action with the parameters P. They have been checked against the schema
// before; reading them fails only if both don't fit together.
func reading[P any](act func(context.Context, *action.Call, P) (action.Result, error)) func(context.Context, *action.Call) (action.Result, error) {
	return func(ctx context.Context, c *action.Call) (action.Result, error) {
		var p P
		if err := c.Read(&p); err != nil {
			return action.Result{}, err
		}
		return act(ctx, c, p)
	}
}

// namedAction is an [action.Action] made of functions.
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

// object returns the schema of parameters with these properties, in JSON. No others are allowed: some models invent
// parameters, and it is better that they learn so than that the call does something else.
func object(properties string, required ...string) json.RawMessage {
	if required == nil {
		required = []string{}
	}
	names, _ := json.Marshal(required) // strings only
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(names) + `,"additionalProperties":false}`)
}

// isGroup reports whether other users can read the conversation.
func isGroup(s action.TurnContext) bool { return !s.Private }

// asked reports whether a person asks: none does in a feed, or by a schedule.
func asked(s action.TurnContext) bool {
	return s.Room.Kind != chat.Feed && !s.Message.Author.Automatic()
}

// named reports whether the author is the owner or a known user. Guests may do less, because anyone can be one.
func named(s action.TurnContext) bool { return s.Owner || s.Allowed }
