package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"parley/core/action"
	"parley/core/text"
	"parley/plugins/mcp/oauth"
)

// Check connects a server, lists its tools, and calls none. It returns a summary, in one line, and the tools as the
// model would be offered them. The server's process
// has ended when it returns. A server with OAuth is used with its login in logins, whose token is renewed if needed;
// without a login, and if it has ended, the error is [oauth.ErrLogin]. Errors hold no secrets of the configuration.
func Check(ctx context.Context, s Server, o Options, logins oauth.Store) (string, []action.Spec, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := newClient(s, o)
	line, err := c.check(ctx, logins)
	if err == nil {
		var specs []action.Spec
		for _, t := range c.view().tools {
			specs = append(specs, t.spec)
		}
		return c.hide(line), specs, nil
	}
	if said := c.redact(err.Error()); errors.Is(err, oauth.ErrLogin) {
		return "", nil, fmt.Errorf("%w%s", oauth.ErrLogin, strings.TrimPrefix(said, oauth.ErrLogin.Error()))
	} else {
		return "", nil, errors.New(said)
	}
}

// check is Check without hiding secrets.
func (c *client) check(ctx context.Context, logins oauth.Store) (string, error) {
	if c.tokens != nil {
		c.tokens.Store = logins
		if _, err := c.tokens.Token(ctx, ""); errors.Is(err, oauth.ErrLogin) {
			issuer, unknown := oauth.Discover(ctx, *c.cfg.OAuth, c.tokens.Client)
			if unknown != nil {
				return "", unknown
			}
			return "", fmt.Errorf("%w (at %s)", err, issuer)
		} else if err != nil {
			return "", err
		}
	}
	session, end, err := c.connect(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	if err := c.refresh(ctx, session); err != nil {
		return "", err
	}
	line := c.view().summary()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stray != "" {
		line += "; it writes lines to its standard output that are no messages, such as " + text.Quote(text.Brief(c.stray, 80))
	}
	return line, nil
}

// summary returns the offers of a server, in one line.
func (s state) summary() string {
	var names []string
	for _, t := range s.tools {
		names = append(names, fmt.Sprintf("%s (%s)", text.Label(t.name), t.spec.Effect))
	}
	line := fmt.Sprintf("%d tools", len(names))
	if len(names) > 0 {
		line += ": " + text.Brief(strings.Join(names, ", "), 400)
	}
	if n := len(s.resources); n > 0 {
		line += fmt.Sprintf("; %d resources", n)
	}
	if len(s.odd) > 0 {
		line += "; " + text.Brief(strings.Join(s.odd, "; "), 400)
	}
	return line
}
