package action

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// LiveToolbox joins the fixed actions with those that plugins have at the moment. It is safe for concurrent use.
type LiveToolbox struct {
	fixed   *Toolbox
	plugins []Plugin
	compile SchemaCompiler
	log     *slog.Logger

	mu   sync.Mutex
	seen []Action // the live actions of now
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

// Await waits for an action that can't be found, as far as its plugin can tell that it will be there soon, and returns all actions of that
// moment.
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
