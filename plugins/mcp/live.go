package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/action"
	"parley/core/text"
	"parley/internal/lang"
)

// running is a call in progress, with the voice for its user. The context of a question of the server is that of the session.
type running struct {
	*action.Call
	voice func() lang.Voice
}

// begin records that a call is in progress, and returns the token of its progress. end leaves its last progress in the
// answer, and must be called. Tokens are unique, so late progress of another call is ignored.
func (c *client) begin(ctx context.Context, call *action.Call) (token string, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	token = fmt.Sprintf("%s-%d", call.ID, c.count)
	c.calls[token] = running{call, func() lang.Voice { return lang.Of(ctx) }}
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, token)
		if last := c.shown[token]; last != "" {
			delete(c.shown, token)
			call.Update(last)
		}
	}
}

// progress shows how far a call has come, in the answer. The library calls it for each notification of the server.
func (c *client) progress(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	c.mu.Lock()
	defer c.mu.Unlock() // so that nothing is shown after its end
	call := c.calls[token].Call
	if call == nil {
		return
	}
	shown := text.Label(c.hide(r.Params.Message))
	if r.Params.Total > 0 {
		shown = strings.TrimSpace(fmt.Sprintf("%s %d%%", shown, int(100*min(1, max(0, r.Params.Progress/r.Params.Total)))))
	}
	if shown != "" {
		c.shown[token] = text.Label(c.cfg.Name) + ": " + shown
		call.Update("⏳ " + c.shown[token])
		call.Short(shown)
	}
}

// only returns the call in progress, if there is exactly one: a question of the server does not name the call that it belongs to.
func (c *client) only() (call running, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call = range c.calls { // the last one stays
	}
	return call, len(c.calls) == 1
}

// readResource is READ_MCP_RESOURCE.
type readResource struct{ p *plugin }

// Spec implements [action.Action].
func (readResource) Spec() action.Spec {
	return action.Spec{
		Name: "READ_MCP_RESOURCE", Similes: []string{"READ_RESOURCE", "GET_RESOURCE", "FETCH_RESOURCE", "ACCESS_RESOURCE"},
		Description: "Read a resource of an MCP server, as listed under MCP servers.",
		Parameters: json.RawMessage(`{"type":"object","required":["serverName","uri"],"properties":{` +
			`"serverName":{"type":"string"},"uri":{"type":"string","maxLength":2048}}}`),
		Effect: action.Reads,
	}
}

// Available implements [action.Conditional].
func (a readResource) Available(s action.TurnContext) bool {
	for _, c := range a.p.clients {
		if len(c.view().resources) > 0 && c.available(s) {
			return true
		}
	}
	return false
}

// Act implements [action.Action].
func (a readResource) Act(ctx context.Context, call *action.Call) (action.Result, error) {
	var p struct{ ServerName, URI string }
	if err := call.Read(&p); err != nil {
		return action.Result{}, err
	}
	c := a.p.client(p.ServerName, call.Turn)
	if c == nil {
		return action.Result{}, fmt.Errorf("there is no MCP server %q", text.Brief(p.ServerName, 64))
	}
	s := c.view()
	listed := false
	for _, r := range s.resources {
		listed = listed || r.URI == p.URI
	}
	// The address is sent to the server, so one that the model made up could carry private data. Only listed ones are
	// read.
	if !listed {
		return action.Result{}, fmt.Errorf("the MCP server %s lists no such resource", c.cfg.Name)
	}
	res, err := within(ctx, startLimit, func(ctx context.Context) (*sdk.ReadResourceResult, error) {
		return s.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: p.URI})
	})
	if err != nil {
		return action.Result{}, fmt.Errorf("the MCP server %s: %s", c.cfg.Name, c.redact(err.Error()))
	}
	var parts []sdk.Content
	for _, r := range res.Contents {
		parts = append(parts, &sdk.EmbeddedResource{Resource: r})
	}
	return contents(parts)
}
