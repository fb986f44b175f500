package mcp

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"parley/core/text"
)

// redact hides secrets in s, which a server can repeat in its errors, and shortens s for the log.
func (c *client) redact(s string) string { return text.Brief(text.Visible(c.hide(s)), 300) }

// hide replaces what is secret of the configuration: the values of the environment and of the headers, the client's
// secret, and what an address holds beyond the place of the server.
func (c *client) hide(s string) string {
	secrets := slices.Collect(maps.Values(c.cfg.Env))
	for _, v := range c.cfg.Headers {
		secrets = append(secrets, v, v[strings.LastIndexByte(v, ' ')+1:]) // the last one without "Bearer"
	}
	if c.cfg.OAuth != nil {
		secrets = append(secrets, c.cfg.OAuth.ClientSecret)
	}
	secrets = append(secrets, inAddress(c.cfg.URL)...)
	// The longest first: one can be a part of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, v := range secrets {
		if len(v) > 3 {
			s = strings.ReplaceAll(s, v, "***")
		}
	}
	return s
}

// inAddress returns the values of the query and the user of an address, as they are written and as they are meant.
func inAddress(address string) (secrets []string) {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	for _, pair := range strings.Split(u.RawQuery, "&") {
		_, raw, _ := strings.Cut(pair, "=")
		secrets = append(secrets, raw)
	}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		secrets = append(secrets, u.User.String(), u.User.Username(), password)
	}
	return secrets
}
