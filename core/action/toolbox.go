package action

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Toolbox contains all actions of the agent.
type Toolbox struct {
	All     []*Tool // in the order of the plugins
	names   map[string]*Tool
	loose   map[string]*Tool // by lower-case names without underscores
	similes map[string]*Tool // likewise
}

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

// Add adds a; compile turns its schema into the check of its parameters. It fails for mistakes of the action.
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

// Find returns the action for the name that a model wrote, or nil. A part of a name does not match.
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

// Tool is an action with its compiled schema.
type Tool struct {
	Action
	Def   Spec
	Check func(params json.RawMessage) error
}

// HasParameters reports whether the action has parameters.
func (t *Tool) HasParameters() bool {
	var schema struct{ Properties map[string]json.RawMessage }
	return json.Unmarshal(t.Def.Parameters, &schema) == nil && len(schema.Properties) > 0
}

// noParameters is the schema of actions without parameters.
const noParameters = `{"type":"object","properties":{}}`

// LooseName normalizes the spelling variants of a name that models produce.
func LooseName(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), "_", ""))
}

// LiveToolbox joins the fixed actions with the current live actions of plugins. It is safe for concurrent use.
type LiveToolbox struct {
	fixed   *Toolbox
	plugins []Plugin
	compile SchemaCompiler
	log     *slog.Logger

	mu   sync.Mutex
	seen []Action // the current live actions
	now  *Toolbox
}

// NewLiveToolbox returns the actions of fixed and the live ones of plugins.
func NewLiveToolbox(fixed *Toolbox, plugins []Plugin, compile SchemaCompiler, log *slog.Logger) *LiveToolbox {
	plugins = slices.DeleteFunc(slices.Clone(plugins), func(p Plugin) bool { return p.Live == nil })
	return &LiveToolbox{fixed: fixed, plugins: plugins, compile: compile, log: log, now: fixed}
}

// Any reports whether there are plugins with live actions.
func (l *LiveToolbox) Any() bool { return len(l.plugins) > 0 }

// Now returns all actions of this moment. The result does not change.
func (l *LiveToolbox) Now() *Toolbox {
	if !l.Any() {
		return l.fixed
	}
	var live []Action
	for _, p := range l.plugins {
		live = append(live, p.Live()...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(live, l.seen) {
		return l.now
	}
	box := &Toolbox{All: slices.Clone(l.fixed.All), names: maps.Clone(l.fixed.names), loose: maps.Clone(l.fixed.loose), similes: maps.Clone(l.fixed.similes)}
	for _, a := range live {
		if err := l.add(box, a); err != nil {
			l.log.Warn("an action can't be used", "action", a.Spec().Name, "err", err)
		}
	}
	l.seen, l.now = live, box
	return box
}

// Started waits a moment while the gateway starts, until plugins have had time for their live actions, and returns all actions.
func (l *LiveToolbox) Started(ctx context.Context) *Toolbox {
	for _, p := range l.plugins {
		if p.Starting != nil {
			p.Starting(ctx)
		}
	}
	return l.Now()
}

// Await waits for an unknown action, if its plugin expects it soon, and returns all actions of that moment. It fails
// with the error of the plugin.
func (l *LiveToolbox) Await(ctx context.Context, s TurnContext, name string, params json.RawMessage) (*Toolbox, error) {
	for _, p := range l.plugins {
		if p.Await == nil {
			continue
		}
		if err := p.Await(ctx, s, name, params); err != nil {
			return nil, err
		}
	}
	return l.Now(), nil
}

// add adds one action. Its schema comes from elsewhere: one that breaks the compiler is an error.
func (l *LiveToolbox) add(box *Toolbox, a Action) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its schema can't be compiled: %v", v)
		}
	}()
	return box.Add(a, l.compile)
}
