package mcp

import (
	"maps"
	"net/url"
	"slices"

	"parley/core/text"
	"parley/internal/redact"
)

// redact hides secrets in s, which a server can repeat in its errors, and shortens s for the log.
func (c *client) redact(s string) string { return text.Brief(text.Visible(c.hide(s)), 300) }

// hide replaces the secrets of the configuration, and the tokens of its login. Whatever a server says of a failure
// passes through it before people, the model or the log get it.
func (c *client) hide(s string) string {
	if c.tokens != nil {
		s = redact.New(c.tokens.Secrets()...).Clean(s)
	}
	return c.secrets.Clean(s)
}

// said returns what a server says about a call, for people and the model.
func (c *client) said(words string, limit int) string {
	return text.Brief(text.Clean(c.hide(words)), limit)
}

// secretsOf returns the redactor for the secrets of a configuration: the values of the environment and of the
// headers, the client's secret, and the secret parts of the server's address.
func secretsOf(s Server) redact.Redactor {
	values := slices.Concat(slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
	var secrets []string
	if s.OAuth != nil {
		secrets = append(secrets, s.OAuth.ClientSecret)
	}
	if u, err := url.Parse(s.URL); err == nil {
		secrets = append(secrets, redact.Address(u)...)
	}
	return redact.Settings(values, secrets...)
}
