// Package example is a plugin that brews tea: the example of docs/add-an-action.md.
package example

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"parley/core"
	"parley/core/event"
)

// New makes the plugin. A cup takes so long.
func New(cup time.Duration) core.Plugin {
	shelf := []string{"assam", "sencha"}
	return core.Plugin{
		Name:      "example",
		Actions:   []core.Action{brew{cup}, pick(shelf)},
		Providers: []core.Provider{provider(shelf)},
		Observers: []event.Observer{&counter{}},
	}
}

// brew brews tea: BREW_TEA.
type brew struct{ cup time.Duration }

// Spec implements [core.Action].
func (brew) Spec() core.ActionSpec {
	return core.ActionSpec{
		Name:        "BREW_TEA",
		Similes:     []string{"MAKE_TEA"},
		Description: "Brew tea, which takes a while.",
		Parameters: json.RawMessage(`{"type":"object","required":["kind"],"properties":{` +
			`"kind":{"type":"string","enum":["assam","sencha"],"description":"which tea"},` +
			`"cups":{"type":"integer","minimum":1,"maximum":6,"description":"number of cups; 1 if omitted"}}}`),
		Effect: core.Reads, // nothing outside changes: it may be cut off, and done again
		Limit:  2 * time.Minute,
	}
}

// Act implements [core.Action].
func (b brew) Act(ctx context.Context, c *core.Call) (core.Result, error) {
	p := struct {
		Kind string
		Cups int
	}{Cups: 1}
	if err := c.Read(&p); err != nil {
		return core.Result{}, err
	}
	for n := range p.Cups {
		c.Update(fmt.Sprintf("🍵 Cup %d of %d…", n+1, p.Cups))
		select {
		case <-time.After(b.cup):
		case <-ctx.Done(): // stopped, or a newer message has taken the room
			return core.Result{}, context.Cause(ctx)
		}
	}
	text := fmt.Sprintf("%d × %s is ready.", p.Cups, p.Kind)
	c.Update("🍵 " + text)
	return core.Result{Text: text, Short: text}, nil
}

// Match implements [core.Matcher]: "tea!" is answered without asking a model.
func (brew) Match(s core.TurnContext) (json.RawMessage, bool) {
	return json.RawMessage(`{"kind":"assam"}`), strings.EqualFold(strings.TrimSpace(s.Message.Text), "tea!")
}

// Available implements [core.Conditional]: nobody makes tea for strangers.
func (brew) Available(s core.TurnContext) bool { return s.Owner || s.Allowed }

// provider tells the model what is on the shelf.
type provider []string

// Spec implements [core.Provider].
func (provider) Spec() core.ProviderSpec { return core.ProviderSpec{Name: "TEA_SHELF", Stable: true} }

// Provide implements [core.Provider].
func (p provider) Provide(context.Context, core.TurnContext) (core.ProviderResult, error) {
	return core.ProviderResult{Text: "On the tea shelf: " + strings.Join(p, ", ") + "."}, nil
}

// counter counts the turns that ended.
type counter struct{ turns atomic.Int64 }

// Observe implements [event.Observer].
func (c *counter) Observe(e event.Event) {
	if _, ok := e.(event.RunEnded); ok {
		c.turns.Add(1)
	}
}
