package action

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Toolbox contains all actions of the agent.
type Toolbox struct {
	All     []*Tool // in the order of the plugins
	names   map[string]*Tool
	loose   map[string]*Tool // by lower-case names without underscores
	similes map[string]*Tool // likewise
}

// Tool is an action with its compiled schema.
type Tool struct {
	Action
	Def   Spec
	Check func(params json.RawMessage) error
}

// noParameters is the schema of actions without parameters.
const noParameters = `{"type":"object","properties":{}}`

// NewToolbox collects the plugins' actions. It fails for ambiguous names and invalid schemas.
func NewToolbox(plugins []Plugin, compile SchemaCompiler) (Toolbox, error) {
	b := Toolbox{names: map[string]*Tool{}, loose: map[string]*Tool{}, similes: map[string]*Tool{}}
	for _, p := range plugins {
		for _, a := range p.Actions {
			if err := b.Add(a, compile); err != nil {
				return Toolbox{}, fmt.Errorf("plugin %s: action %s: %w", p.Name, a.Spec().Name, err)
			}
		}
	}
	return b, nil
}

// Add adds a, whose parameters are checked by what compile makes of their schema. Errors are mistakes of the action.
func (b *Toolbox) Add(a Action, compile SchemaCompiler) error {
	t := &Tool{Action: a, Def: a.Spec(), Check: func(json.RawMessage) error { return nil }}
	if t.Def.Effect == undeclared {
		t.Def.Effect = Writes
	}
	if t.Def.Parameters == nil {
		t.Def.Parameters = json.RawMessage(noParameters)
	}
	if compile != nil {
		check, err := compile(t.Def.Parameters)
		if err != nil {
			return fmt.Errorf("its parameters: %w", err)
		}
		t.Check = check
	}
	for _, name := range append([]string{t.Def.Name}, t.Def.Similes...) {
		if LooseName(name) == "" {
			return fmt.Errorf("the name %q is invalid", name)
		}
		if other := b.known(LooseName(name)); other != nil {
			return fmt.Errorf("the name %s is already used by %s", name, other.Def.Name)
		}
	}
	b.names[t.Def.Name], b.loose[LooseName(t.Def.Name)] = t, t
	for _, name := range t.Def.Similes {
		b.similes[LooseName(name)] = t
	}
	b.All = append(b.All, t)
	return nil
}

// Find returns the action that a model means by name, or nil. A part of a name does not match.
func (b *Toolbox) Find(name string) *Tool {
	if t := b.names[name]; t != nil {
		return t
	}
	return b.known(LooseName(name))
}

func (b *Toolbox) known(loose string) *Tool {
	if t := b.loose[loose]; t != nil {
		return t
	}
	return b.similes[loose]
}

// LooseName normalizes the spelling variants of a name that models produce.
func LooseName(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), "_", ""))
}

// HasParameters reports whether the action has parameters.
func (t *Tool) HasParameters() bool {
	var schema struct{ Properties map[string]json.RawMessage }
	return json.Unmarshal(t.Def.Parameters, &schema) == nil && len(schema.Properties) > 0
}
