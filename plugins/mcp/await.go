package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/action"
	"parley/plugins/mcp/oauth"
)

// await implements Await of [action.Plugin]: a call that was approved before a restart can come before its server is
// connected. Without it, the call would fail as unknown although a person has approved it.
func (p *plugin) await(ctx context.Context, s action.TurnContext, name string, params json.RawMessage) error {
	for _, c := range p.clients {
		if !c.available(s) || !c.offers(name, params) {
			continue
		}
		if errors.Is(c.view().err, oauth.ErrLogin) {
			return fmt.Errorf("the MCP server %s can't be used before the owner logs in to it", c.cfg.Name)
		}
		if !c.connected(ctx) {
			return fmt.Errorf("the MCP server %s can't be reached at the moment", c.cfg.Name)
		}
	}
	return nil
}

// startWait is the time after the start of the gateway when answers wait for servers that are being started.
const startWait = 10 * time.Second

// starting implements Starting of [action.Plugin]: without it, the first question after a start would have no tools.
func (p *plugin) starting(ctx context.Context) {
	for _, c := range p.clients {
		select { // nearly always
		case <-c.tried:
			continue
		default:
		}
		late := time.NewTimer(time.Until(c.born.Add(startWait)))
		select {
		case <-c.tried:
		case <-late.C:
		case <-ctx.Done():
		}
		late.Stop()
	}
}

// offers reports whether the server, once it is connected, can have the action of a call. Its tools are not known yet,
// so this goes by names.
func (c *client) offers(name string, params json.RawMessage) bool {
	if prefix := actionPrefix(c.cfg.Name); len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
		return true
	}
	if !strings.Contains(action.LooseName(name), "mcp") {
		return false
	}
	var named struct{ ServerName string }
	return json.Unmarshal(params, &named) == nil && strings.EqualFold(strings.TrimSpace(named.ServerName), c.cfg.Name)
}

// connected waits until the server is connected, but not longer than a start takes. It reports whether it is. A server
// that has been away for longer is not waited for.
func (c *client) connected(ctx context.Context) bool {
	for {
		c.mu.Lock()
		s, moved := c.state, c.moved
		c.mu.Unlock()
		if s.session != nil {
			return true
		}
		timer := time.NewTimer(time.Until(s.since.Add(startLimit)))
		select {
		case <-moved:
			timer.Stop()
			if !time.Now().Before(s.since.Add(startLimit)) && c.view().session == nil {
				return false
			}
		case <-timer.C:
			return c.view().session != nil
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}
