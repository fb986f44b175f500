package config

import (
	"strings"
	"testing"
)

// An agent of the owner's own needs only its address, and is for nothing but answers.
func TestOwnAgents(t *testing.T) {
	for name, test := range map[string]struct {
		yaml, variable string
		large, small   Provider
	}{
		"an address in the environment": {"", "AGENT_URL", "http", ProviderOpenAI},
		"OpenAI goes before":            {"providers: {openai: {api_key: k}}", "AGENT_URL", ProviderOpenAI, ProviderOpenAI},
		"named":                         {"providers: {openai: {api_key: k}}\nmodels: {large: {provider: http}, small: {model: s}}", "AGENT_URL", "http", ProviderOpenAI},
		"with its own address":          {"models: {chat: [{name: a, provider: http, url: 'http://10.0.0.2:9000/agent', api_key: k}, {name: b, provider: http, url: 'http://10.0.0.2/b'}]}", "", "http", ProviderOpenAI},
	} {
		t.Run(name, func(t *testing.T) {
			c := parse(t, test.yaml, map[string]string{test.variable: "http://127.0.0.1:9000"})
			if large, small := c.LargeProvider(), c.SlotProvider(c.Models.Small); large != test.large || small != test.small || c.LargeAgent() != (large == "http") {
				t.Errorf("large is of %s, small of %s", large, small)
			}
		})
	}
	for yaml, want := range map[string]string{
		"[{name: a, provider: http}]":                                            "models.chat[0]: this is an agent without an address; write url: and where it listens, or set AGENT_URL",
		"[{name: a, provider: http, url: 'ftp://a'}]":                            "models.chat[0].url: the value is not a plain server URL",
		"[{name: a, provider: http, url: 'http://me:secret@a'}]":                 "is not a plain server URL",
		"[{name: a, provider: groq, model: m, url: 'http://a'}]":                 "models.chat[0].url: the value is only for agents of your own; write provider: http",
		"[{name: a, model: m, api_key: k}]":                                      "models.chat[0].api_key: the value has no url that it is for",
		"[{name: a, provider: http, url: 'http://a', api_key: \"k\\nk\"}]":       "models.chat[0].api_key: the value does not look like a token or key",
		"[{name: a, model: m}]\n  small: {provider: http, model: m}":             "models.small.provider: \"http\" is your own agent, which only answers people",
		"[{name: a, provider: http, url: 'http://a'}, {name: b, model: m}]\n# b": "models.chat[1]: this is an agent without an address",
	} {
		_, err := Parse("", []byte(chatKey+"models:\n  chat: "+yaml), "", environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s:\n%v\nwant %s", yaml, err, want)
		}
	}
}
