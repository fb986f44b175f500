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

func TestWithListen(t *testing.T) {
	for _, c := range []struct {
		address string
		public  bool
		ok      bool
	}{
		{"127.0.0.1:0", false, true},
		{"[::1]:9000", false, true},
		{"localhost:9000", false, true},
		{"0.0.0.0:9000", false, false},
		{":9000", false, false},
		{"0.0.0.0:9000", true, true},
		{"9000", false, false},
	} {
		cfg := Config{Web: Web{Listen: "127.0.0.1:8080", Public: c.public}}
		got, err := cfg.WithListen(c.address)
		if (err == nil) != c.ok {
			t.Errorf("WithListen(%q) with public %v: error %v", c.address, c.public, err)
		}
		if c.ok && got.Web.Listen != c.address {
			t.Errorf("WithListen(%q) listens on %q", c.address, got.Web.Listen)
		}
	}
}
