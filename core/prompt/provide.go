package prompt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/core/action"
	"parley/core/contain"
)

// provideLimit is the default time limit of a provider.
const provideLimit = time.Second

var errLate = errors.New("it took too long")

// source is a provider with its spec.
type source struct {
	action.Provider
	spec action.ProviderSpec
}

// newSources lists the plugins' providers in prompt order. A name that is taken is an error, because models request
// providers by name.
func newSources(plugins []action.Plugin) ([]source, error) {
	var all []source
	for _, p := range plugins {
		for _, provider := range p.Providers {
			s := source{provider, provider.Spec()}
			if s.spec.Name == "" || slices.ContainsFunc(all, func(o source) bool { return o.spec.Name == s.spec.Name }) {
				return nil, fmt.Errorf("plugin %s: the provider name %q is empty or already taken", p.Name, s.spec.Name)
			}
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b source) int { return cmp.Compare(a.spec.Position, b.spec.Position) })
	return all, nil
}

// ask calls the picked providers that were not called before, concurrently, and waits for them. A failing provider is
// left out, and the turn continues without it. Results are kept for all prompts of the turn.
func (st *Builder) ask(ctx context.Context, pick func(action.ProviderSpec) bool) {
	var asked []source
	for _, s := range st.c.sources {
		known := slices.ContainsFunc(st.Outputs, func(t Output) bool { return t.Spec.Name == s.spec.Name })
		if !known && pick(s.spec) && st.set.serves(s.Provider) {
			asked = append(asked, s)
		}
	}
	answers := make([]Output, len(asked))
	var all sync.WaitGroup
	for i, s := range asked {
		all.Go(func() { answers[i] = Output{s.spec, st.c.provide(ctx, s, &st.turn)} })
	}
	all.Wait()
	st.Outputs = append(st.Outputs, answers...)
	slices.SortStableFunc(st.Outputs, func(a, b Output) int { return cmp.Compare(a.Spec.Position, b.Spec.Position) })
}

// AskNamed calls the providers that an answer names, dynamic or not. Unknown names are ignored: they come from a model.
func (st *Builder) AskNamed(ctx context.Context, names []string) {
	st.ask(ctx, func(spec action.ProviderSpec) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), spec.Name) })
	})
}

// Lacks reports whether names contains an existing provider that was not called yet.
func (st *Builder) Lacks(names []string) bool {
	return slices.ContainsFunc(st.c.sources, func(s source) bool {
		same := func(n string) bool { return strings.EqualFold(n, s.spec.Name) }
		return slices.ContainsFunc(names, same) && !slices.ContainsFunc(st.Outputs, func(t Output) bool { return t.Spec.Name == s.spec.Name })
	})
}

// provide calls one provider. If it exceeds its time limit, it is abandoned, because it can't be ended from outside,
// and [Composer.Wait] waits for it at the end. A failure is reported to skipped, and the result is empty.
func (c *Composer) provide(ctx context.Context, s source, turn *action.TurnContext) action.ProviderResult {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(s.spec.Limit, provideLimit), errLate)
	defer cancel()
	f, err := contain.Await(ctx, c.late.Go, "the provider", 0, func() (action.ProviderResult, error) { return s.Provide(ctx, *turn) })
	if err != nil {
		c.skipped(s.spec, turn.Run, err)
		return action.ProviderResult{}
	}
	return f
}
