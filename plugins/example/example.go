// Package example is a plugin that brews tea: the example of docs/add-an-action.md.
package example

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"parley/core/action"
	"parley/core/event"
)

// New returns the plugin. cup is the time to brew one cup.
func New(cup time.Duration) action.Plugin {
	shelf := []string{"assam", "sencha"}
	return action.Plugin{
		Name:      "example",
		Actions:   []action.Action{brew{cup}, pick(shelf), order{}},
		Providers: []action.Provider{provider(shelf)},
		Observers: []event.Observer{&counter{}},
	}
}

// brew brews tea: BREW_TEA.
type brew struct{ cup time.Duration }

// Spec implements [action.Action].
func (brew) Spec() action.Spec {
	return action.Spec{
		Name:        "BREW_TEA",
		Similes:     []string{"MAKE_TEA"},
		Description: "Brew tea, which takes a while.",
		Parameters: json.RawMessage(`{"type":"object","required":["kind"],"properties":{` +
			`"kind":{"type":"string","enum":["assam","sencha"],"description":"which tea"},` +
			`"cups":{"type":"integer","minimum":1,"maximum":6,"description":"number of cups; 1 if omitted"}}}`),
		Effect: action.Reads, // it changes nothing, so it can be interrupted and repeated
		Limit:  2 * time.Minute,
	}
}

// Act implements [action.Action].
func (b brew) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	p := struct {
		Kind string
		Cups int
	}{Cups: 1}
	if err := c.Read(&p); err != nil {
		return action.Result{}, err
	}
	for n := range p.Cups {
		c.Update(fmt.Sprintf("🍵 Cup %d of %d…", n+1, p.Cups))
		select {
		case <-time.After(b.cup):
		case <-ctx.Done(): // stopped, or superseded by a newer message
			return action.Result{}, context.Cause(ctx)
		}
	}
	text := fmt.Sprintf("%d × %s is ready.", p.Cups, p.Kind)
	c.Update("🍵 " + text)
	return action.Result{Text: text, Short: text}, nil
}

// Match implements [action.Matcher]: "tea!" is answered without a model call.
func (brew) Match(s action.TurnContext) (json.RawMessage, bool) {
	return json.RawMessage(`{"kind":"assam"}`), strings.EqualFold(strings.TrimSpace(s.Message.Text), "tea!")
}

// Available implements [action.Conditional]: there is no tea for strangers.
func (brew) Available(s action.TurnContext) bool { return s.Owner || s.Allowed }

// provider adds the teas of the shelf to the prompt.
type provider []string

// Spec implements [action.Provider].
func (provider) Spec() action.ProviderSpec {
	return action.ProviderSpec{Name: "TEA_SHELF", Stable: true}
}

// Provide implements [action.Provider].
func (p provider) Provide(context.Context, action.TurnContext) (action.ProviderResult, error) {
	return action.ProviderResult{Text: "On the tea shelf: " + strings.Join(p, ", ") + "."}, nil
}

// counter counts the turns that ended.
type counter struct{ turns atomic.Int64 }

// Observe implements [event.Observer].
func (c *counter) Observe(e event.Event) {
	if _, ok := e.(event.RunEnded); ok {
		c.turns.Add(1)
	}
}
