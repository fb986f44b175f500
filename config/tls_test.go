package config

import (
	"errors"
	"strings"
	"testing"
)

// Domains are names of sites, and need a public chat of a single gateway.
func TestDomains(t *testing.T) {
	const open = "web: {public: true, tls: [%]}\n"
	for name, c := range map[string]struct{ text, key, want string }{
		"a name":              {strings.ReplaceAll(open, "%", "chat.example.org"), "", ""},
		"several":             {strings.ReplaceAll(open, "%", "a.example.org, xn--bcher-kva.example"), "", ""},
		"none":                {strings.ReplaceAll(open, "%", ""), "web.public", "has no origins"},
		"an address":          {strings.ReplaceAll(open, "%", `"https://chat.example.org"`), "web.tls[0]", "not the name of a site"},
		"a port":              {strings.ReplaceAll(open, "%", `a.example.org, "chat.example.org:443"`), "web.tls[1]", "not the name of a site"},
		"an IP address":       {strings.ReplaceAll(open, "%", `"192.0.2.1"`), "web.tls[0]", "not the name of a site"},
		"one word":            {strings.ReplaceAll(open, "%", "localhost"), "web.tls[0]", "not the name of a site"},
		"all names":           {strings.ReplaceAll(open, "%", `"*.example.org"`), "web.tls[0]", "not the name of a site"},
		"capitals":            {strings.ReplaceAll(open, "%", "Chat.Example.org"), "web.tls[0]", "in lower case"},
		"not public":          {"web: {tls: [chat.example.org]}\n", "web.tls", "needs web.public: true"},
		"of several gateways": {strings.ReplaceAll(open, "%", "chat.example.org") + "store: postgres://db/parley\nshared: redis://localhost\n", "web.tls", "works for one gateway only"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Parse("config.yaml", []byte(c.text), "", environment(nil), platforms...)
			if c.want == "" {
				if err != nil || cfg.Web.TLS.Origins()[0] != "https://"+cfg.Web.TLS[0] {
					t.Errorf("%v, %v", cfg.Web.TLS.Origins(), err)
				}
				return
			}
			problems, _ := errors.AsType[Problems](err)
			if len(problems) != 1 || problems[0].Key != c.key || !strings.Contains(problems[0].Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
