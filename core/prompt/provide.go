package prompt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/internal/contain"
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
	usual, cancel := context.WithTimeoutCause(ctx, provideLimit, errLate)
	defer cancel()
	answers := make([]func() action.ProviderResult, len(asked))
	for i, s := range asked {
		answers[i] = st.c.provide(ctx, usual, s, &st.turn)
	}
	st.Outputs = slices.Grow(st.Outputs, len(asked))
	for i, s := range asked {
		st.Outputs = append(st.Outputs, Output{Spec: s.spec, ProviderResult: answers[i]()})
	}
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

// provide calls one provider, and returns a function that waits for its result. If it exceeds its time limit, that of
// usual unless it has its own, it is abandoned, because it can't be ended from outside, and [Composer.Wait] waits for it
// at the end. A failure is reported to skipped, and the result is empty.
func (c *Composer) provide(ctx, usual context.Context, s source, turn *action.TurnContext) (wait func() action.ProviderResult) {
	cancel := func() {}
	if s.spec.Limit > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, s.spec.Limit, errLate)
	} else {
		ctx = usual
	}
	result := contain.Begin(ctx, c.late.Go, "the provider", 0, func() (action.ProviderResult, error) { return s.Provide(ctx, *turn) })
	return func() action.ProviderResult {
		defer cancel()
		f, err := result()
		if err != nil {
			c.skipped(s.spec, turn.Run, err)
			return action.ProviderResult{}
		}
		return f
	}
}
