package prompt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/llm"
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

// newSources lists the plugins' providers in prompt order. It fails for a name that is taken, because models request
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

// AskNamed calls the named providers, dynamic or not. Unknown names are ignored: they come from a model.
func (st *Builder) AskNamed(ctx context.Context, names []string) {
	st.ask(ctx, func(spec action.ProviderSpec) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), spec.Name) })
	})
}

// Read names the parts of the latest prompt; nil if there was none.
func (st *Builder) Read() *answer.Prompt {
	if st.oldest < 0 {
		return nil
	}
	hash, p := fnv.New64a(), &answer.Prompt{}
	_, _ = hash.Write([]byte(st.system)) // it never fails
	p.Instructions = strconv.FormatUint(hash.Sum64(), 36)
	if st.oldest < len(st.turn.Recent) {
		p.Since = st.turn.Recent[st.oldest].At.UTC()
	}
	for _, o := range st.Outputs {
		for _, n := range o.Facts[:min(len(o.Facts), mostRead)] {
			p.Facts = append(p.Facts, n.At.UTC())
		}
		for _, id := range o.Recalled[:min(len(o.Recalled), mostRead)] {
			p.Recalled = append(p.Recalled, string(id))
		}
	}
	return p
}

// mostRead is the maximum number of facts, and of messages, of one provider that [Builder.Read] names.
const mostRead = 50

// Sources lists the names of the providers that returned a text, in prompt order.
func (st *Builder) Sources() string {
	var names []string
	for _, o := range st.Outputs {
		if o.Text != "" {
			names = append(names, o.Spec.Name)
		}
	}
	return strings.Join(names, ", ")
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

// providerTool is the tool of models for requesting dynamic providers, whose results are not in every prompt. In the
// text format, the model names them in a field instead.
type providerTool struct{ c *Composer }

// Spec implements [action.Action].
func (q providerTool) Spec() action.Spec { return q.c.inquiry }

// Available implements [action.Conditional]: the text format has its own field for the names.
func (q providerTool) Available(s action.TurnContext) bool {
	return q.c.calls && q.c.Turn(s).Native()
}

// Act implements [action.Action]: it calls the providers that the model names, and returns their output.
func (q providerTool) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	st := q.c.Turn(c.Turn)
	st.AskNamed(ctx, RequestedProviders(c.Parameters))
	all := func(action.ProviderSpec) bool { return true }
	return action.Result{Text: cmp.Or(st.fragments(all, st.limit()/share), "They returned nothing.")}, nil
}

// ProviderTool is the name of the tool that requests dynamic providers. It needs no permission.
const ProviderTool = "ASK_PROVIDERS"

// Tool returns the action that requests dynamic providers; nil if there are none.
func (c *Composer) Tool() action.Action {
	if c.inquiry.Name == "" {
		return nil
	}
	return providerTool{c}
}

// inquiry returns the specification of the tool that requests dynamic providers; the zero value if there are none.
func inquiry(sources []source) action.Spec {
	description, names := "Gives you more information when you need it to answer:", []string{}
	for _, s := range sources {
		if !s.spec.Dynamic {
			continue
		}
		description += "\n- " + s.spec.Name + ": " + cmp.Or(s.spec.Description, "as its name says")
		names = append(names, s.spec.Name)
	}
	if len(names) == 0 {
		return action.Spec{}
	}
	parameters, _ := json.Marshal(map[string]any{ // strings only: never fails
		"type": "object", "required": []string{"names"},
		"properties": map[string]any{"names": map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "enum": names}}},
	})
	return action.Spec{Name: ProviderTool, Description: description, Parameters: parameters, Quiet: true, Unlisted: true, Effect: action.Reads}
}

// tools returns the tools for a model: the actions of the turn, and the provider tool, which no other code treats as an
// action.
func (st *Builder) tools() (all []llm.Tool) {
	for _, a := range st.turn.Actions {
		all = append(all, a.Tool())
	}
	if q := st.c.Tool(); q != nil && st.c.calls && st.Native() {
		all = append(all, q.Spec().Tool())
	}
	return all
}

// RequestedProviders returns the provider names in the parameters of a call; none if they can't be read.
func RequestedProviders(parameters json.RawMessage) []string {
	var p struct{ Names []string }
	if json.Unmarshal(parameters, &p) != nil {
		return nil
	}
	return slices.DeleteFunc(p.Names, func(n string) bool { return strings.TrimSpace(n) == "" })
}
