package prompt

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/llm"
)

// providerTool is the tool with which a model requests dynamic providers, whose results are not in every prompt. In the
// text format, the model names them in a field instead.
type providerTool struct{ c *Composer }

// ProviderTool is the name of the tool that requests dynamic providers. It needs no permission.
const ProviderTool = "ASK_PROVIDERS"

// Tool returns the action that requests dynamic providers; nil if there are none.
func (c *Composer) Tool() action.Action {
	if c.inquiry.Name == "" {
		return nil
	}
	return providerTool{c}
}

// Spec implements [action.Action].
func (q providerTool) Spec() action.Spec { return q.c.inquiry }

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

// Available implements [action.Conditional]: the text format has its own field for the names.
func (q providerTool) Available(s action.TurnContext) bool {
	return q.c.calls && q.c.Turn(s).Native()
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

// Act implements [action.Action]: it calls the providers that the model names, and returns what they tell.
func (q providerTool) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	st := q.c.Turn(c.Turn)
	st.AskNamed(ctx, RequestedProviders(c.Parameters))
	all := func(action.ProviderSpec) bool { return true }
	return action.Result{Text: cmp.Or(st.fragments(all, st.limit()/share), "They returned nothing.")}, nil
}

// RequestedProviders returns the provider names in the parameters of a call; none if they can't be read.
func RequestedProviders(parameters json.RawMessage) []string {
	var p struct{ Names []string }
	if json.Unmarshal(parameters, &p) != nil {
		return nil
	}
	return slices.DeleteFunc(p.Names, func(n string) bool { return strings.TrimSpace(n) == "" })
}
