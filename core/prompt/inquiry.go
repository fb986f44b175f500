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

// providerTool is how a model that calls tools asks the dynamic providers, which one that fills a form names in it.
type providerTool struct{ c *Composer }

// ProviderTool is the name of the tool with which models ask dynamic providers. It needs no permission of its own.
const ProviderTool = "ASK_PROVIDERS"

// Tool returns the action that asks the dynamic providers; nil if there are none.
func (c *Composer) Tool() action.Action {
	if !slices.ContainsFunc(c.sources, func(s source) bool { return s.spec.Dynamic }) {
		return nil
	}
	return providerTool{c}
}

// Spec implements [action.Action].
func (q providerTool) Spec() action.Spec {
	description, names := "Gives you more information when you need it to answer:", []string{}
	for _, s := range q.c.sources {
		if !s.spec.Dynamic {
			continue
		}
		description += "\n- " + s.spec.Name + ": " + cmp.Or(s.spec.Description, "as its name says")
		names = append(names, s.spec.Name)
	}
	parameters, _ := json.Marshal(map[string]any{ // strings: never fails
		"type": "object", "required": []string{"names"},
		"properties": map[string]any{"names": map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "enum": names}}},
	})
	return action.Spec{Name: ProviderTool, Description: description, Parameters: parameters, Quiet: true, Unlisted: true, Effect: action.Reads}
}

// Available implements [action.Conditional]: a form has a place of its own for the names.
func (q providerTool) Available(s action.TurnContext) bool {
	return q.c.calls && q.c.Turn(s).Native()
}

// tools are what a model may call: the actions of the turn, and an inquiry, which is no action to anybody else.
func (st *Builder) tools() (all []llm.Tool) {
	for _, a := range st.scene.Actions {
		all = append(all, a.Tool())
	}
	if q := st.c.Tool(); q != nil && st.c.calls && st.Native() {
		all = append(all, q.Spec().Tool())
	}
	return all
}

// Act implements [action.Action].
func (q providerTool) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	st := q.c.Turn(c.Scene)
	st.AskNamed(ctx, RequestedProviders(c.Parameters))
	all := func(action.ProviderSpec) bool { return true }
	return action.Result{Text: cmp.Or(st.fragments(all, q.c.Recall.Prompt/share), "They returned nothing.")}, nil
}

// RequestedProviders are the names that an inquiry asks for.
func RequestedProviders(parameters json.RawMessage) []string {
	var p struct{ Names []string }
	if json.Unmarshal(parameters, &p) != nil {
		return nil
	}
	return slices.DeleteFunc(p.Names, func(n string) bool { return strings.TrimSpace(n) == "" })
}
