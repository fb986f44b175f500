package turn

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/internal/contain"
)

// Tools finds the actions that turns can use. Its fields are set before use. It is safe for concurrent use.
type Tools struct {
	Fixed  *action.Toolbox
	Live   *action.LiveToolbox // these, and those that come and go, such as the tools of MCP servers
	Access access.Policy
	Log    *slog.Logger
}

// Check fails if the access policy names an action that does not exist. Actions that come and go are not checked.
func (tl *Tools) Check() error {
	for _, o := range tl.Access.Overrides {
		for _, name := range o.Tools {
			if tl.Live.Now().Find(name) == nil && !tl.Live.Any() { // live actions come later
				return fmt.Errorf("access: there is no action %q", name)
			}
		}
	}
	return nil
}

// offers reports whether t is offered in a turn: the settings of its room may allow only some actions, and an action may not be
// available at times.
func (tl *Tools) offers(t *action.Tool, s action.TurnContext) bool {
	if only := tl.Access.OverrideFor(s.Room).Tools; only != nil && t.Def.Name != prompt.ProviderTool &&
		!slices.ContainsFunc(only, func(name string) bool { o := tl.Live.Now().Find(name); return o != nil && o.Def.Name == t.Def.Name }) {
		return false
	}
	o, ok := t.Action.(action.Conditional)
	return !ok || o.Available(s)
}

// claim returns the action that claims the turn before any model is called, such as a player for "play …", and its
// parameters. Only a turn of one message can be claimed: other messages in it would stay without an answer.
func (tl *Tools) claim(run *chat.Run, s action.TurnContext) (t *action.Tool, params json.RawMessage, ok bool) {
	if len(run.Inputs) != 1 || s.Message.ID == "" {
		return nil, nil, false
	}
	for _, t := range tl.Fixed.All {
		if m, is := t.Action.(action.Matcher); is && tl.offers(t, s) {
			if params, ok := tl.match(run, t, m, s); ok {
				return t, params, true
			}
		}
	}
	return nil, nil, false
}

// match asks one action whether it claims the turn. An action that panics does not claim it.
func (tl *Tools) match(run *chat.Run, t *action.Tool, m action.Matcher, s action.TurnContext) (params json.RawMessage, ok bool) {
	err := contain.Call("the action", func() error {
		params, ok = m.Match(s)
		return nil
	})
	if err != nil {
		tl.Log.Error("an action failed to inspect a message", "run", run.ID, "action", t.Def.Name, "err", err)
	}
	return params, ok
}
