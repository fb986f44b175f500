package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"parley/core/text"
	"parley/plugins/mcp/oauth"
)

// Check connects a server, lists its tools, and calls none. It returns what there is, in one line. The server's process
// has ended when it returns.
func Check(ctx context.Context, s Server, o Options) (string, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := newClient(s, o)
	if s.OAuth != nil { // its tokens are in the store of the gateway
		issuer, err := oauth.Discover(ctx, *s.OAuth, c.tokens.Client)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("logs in at %s; gateway mcp login %s begins a login", text.Label(issuer), s.Name), nil
	}
	session, end, err := c.connect(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	if err := c.refresh(ctx, session); err != nil {
		return "", err
	}
	v := c.view()
	var names []string
	for _, t := range v.tools {
		names = append(names, fmt.Sprintf("%s (%s)", text.Label(t.name), t.spec.Effect))
	}
	line := fmt.Sprintf("%d tools", len(names))
	if len(names) > 0 {
		line += ": " + text.Brief(strings.Join(names, ", "), 400)
	}
	if n := len(v.resources); n > 0 {
		line += fmt.Sprintf("; %d resources", n)
	}
	return line, nil
}
