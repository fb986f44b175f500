package core

import (
	"fmt"
	"slices"

	"parley/core/access"
	"parley/core/action"
	"parley/core/prompt"
)

// checkTools reports whether all actions that a names are there.
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

// offers reports whether t is there in a turn: where it takes place, only some actions may be used.
func (rt *Runtime) offers(t *action.Tool, s action.TurnContext) bool {
	if only := rt.cfg.Access.OverrideFor(s.Room).Tools; only != nil && t.Def.Name != prompt.ProviderTool &&
		!slices.ContainsFunc(only, func(name string) bool { o := rt.tools.Now().Find(name); return o != nil && o.Def.Name == t.Def.Name }) {
		return false
	}
	o, ok := t.Action.(action.Conditional)
	return !ok || o.Available(s)
}
