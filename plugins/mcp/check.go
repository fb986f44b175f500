package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"parley/core/text"
)

// Check connects a server, lists its tools, and calls none. It returns what there is, in one line. The server's process
// has ended when it returns.
func Check(ctx context.Context, s Server, o Options) (string, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := newClient(s, o)
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
