package core

import (
	"fmt"
	"slices"

	"parley/core/access"
	"parley/core/action"
	"parley/core/prompt"
)

// checkTools returns an error if the access policy names an action that there is not. Where actions come and go it can't tell.
func checkTools(b *action.LiveToolbox, a access.Policy) error {
	for _, o := range a.Overrides {
		for _, name := range o.Tools {
			if b.Now().Find(name) == nil && !b.Any() { // live actions come later
				return fmt.Errorf("access: there is no action %q", name)
			}
		}
	}
	return nil
}

// offers reports whether t is offered in a turn: the settings of its room may allow only some actions, and an action may not be
// available at times.
func (rt *Runtime) offers(t *action.Tool, s action.TurnContext) bool {
	if only := rt.cfg.Access.OverrideFor(s.Room).Tools; only != nil && t.Def.Name != prompt.ProviderTool &&
		!slices.ContainsFunc(only, func(name string) bool { o := rt.tools.Now().Find(name); return o != nil && o.Def.Name == t.Def.Name }) {
		return false
	}
	o, ok := t.Action.(action.Conditional)
	return !ok || o.Available(s)
}
