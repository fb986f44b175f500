package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// toolbox is all that the agent can do.
type toolbox struct {
	all     []*tool // in the plugins' order
	names   map[string]*tool
	loose   map[string]*tool // names in small letters, without underscores
	similes map[string]*tool // likewise
}

// tool is an action, ready to be called.
type tool struct {
	Action
	spec  ActionSpec
	check func(params json.RawMessage) error
}

// noParameters is the schema of an action that has none.
const noParameters = `{"type":"object","properties":{}}`

// newToolbox takes the plugins' actions. A name that could mean two of them is an error, as is a wrong schema.
func newToolbox(plugins []Plugin, compile SchemaCompiler) (toolbox, error) {
	b := toolbox{names: map[string]*tool{}, loose: map[string]*tool{}, similes: map[string]*tool{}}
	for _, p := range plugins {
		for _, a := range p.Actions {
			if err := b.add(a, compile); err != nil {
				return toolbox{}, fmt.Errorf("plugin %s: action %s: %w", p.Name, a.Spec().Name, err)
			}
		}
	}
	return b, nil
}

func (b *toolbox) add(a Action, compile SchemaCompiler) error {
	t := &tool{Action: a, spec: a.Spec(), check: func(json.RawMessage) error { return nil }}
	if t.spec.Effect == undeclared {
		t.spec.Effect = Writes
	}
	if t.spec.Parameters == nil {
		t.spec.Parameters = json.RawMessage(noParameters)
	}
	if compile != nil {
		check, err := compile(t.spec.Parameters)
		if err != nil {
			return fmt.Errorf("its parameters: %w", err)
		}
		t.check = check
	}
	for _, name := range append([]string{t.spec.Name}, t.spec.Similes...) {
		if loosely(name) == "" {
			return fmt.Errorf("the name %q is invalid", name)
		}
		if other := b.known(loosely(name)); other != nil {
			return fmt.Errorf("the name %s is already used by %s", name, other.spec.Name)
		}
	}
	b.names[t.spec.Name], b.loose[loosely(t.spec.Name)] = t, t
	for _, name := range t.spec.Similes {
		b.similes[loosely(name)] = t
	}
	b.all = append(b.all, t)
	return nil
}

// find is the action that a model means by name, or nil. A part of a name is no name.
func (b *toolbox) find(name string) *tool {
	if t := b.names[name]; t != nil {
		return t
	}
	return b.known(loosely(name))
}

func (b *toolbox) known(loose string) *tool {
	if t := b.loose[loose]; t != nil {
		return t
	}
	return b.similes[loose]
}

// loosely is a name as models vary it.
func loosely(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), "_", ""))
}

// checkTools says whether all actions that a names are there.
func checkTools(b *toolbox, a Access) error {
	for _, o := range a.Overrides {
		for _, name := range o.Tools {
			if b.find(name) == nil {
				return fmt.Errorf("access: there is no action %q", name)
			}
		}
	}
	return nil
}

// takes says that the action has parameters.
func (t *tool) takes() bool {
	var schema struct{ Properties map[string]json.RawMessage }
	return json.Unmarshal(t.spec.Parameters, &schema) == nil && len(schema.Properties) > 0
}

// offers says whether t is there in a turn: where it takes place, only some actions may be used.
func (rt *Runtime) offers(t *tool, s TurnContext) bool {
	if only := rt.cfg.Access.override(s.Room).Tools; only != nil && t.spec.Name != providerToolName &&
		!slices.ContainsFunc(only, func(name string) bool { return rt.toolbox.find(name) == t }) {
		return false
	}
	o, ok := t.Action.(Conditional)
	return !ok || o.Available(s)
}
