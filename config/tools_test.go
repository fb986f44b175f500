package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/internal/require"
)

func TestTools(t *testing.T) {
	c := parse(t, `
mcp:
  - name: files
    command: [npx, -y, server]
    env: {API_TOKEN: "${env:TOKEN}"}
    tools: {read: [read_file]}
  - {name: shop, url: "http://10.0.0.5/mcp", headers: {Authorization: "Bearer ${env:TOKEN}"}, who: owner, timeout: 5m}
  - {name: store, url: "https://store.example.org/mcp", oauth: {enabled: true, client_id: me, client_secret: "${env:TOKEN}", scopes: [orders]}}
secret_key: "${env:KEY}"
tools:
  - name: ORDER_STATUS
    description: Look up an order.
    parameters: {type: object, required: [order], properties: {order: {type: string, maxLength: 20}}}
    url: https://shop.example.org/status
    secret: ${env:TOKEN}
    effect: read
people: {staff: ["telegram:1"]}
turns: {approval: 10m}
`, map[string]string{"TOKEN": "s3cr3t", "KEY": "czNjcjN0LXMzY3IzdC1zM2NyM3QtczNjcjN0LXMzY3I="})
	if len(c.MCP) != 3 || c.MCP[0].Env["API_TOKEN"] != "s3cr3t" || c.MCP[0].Who != ToolsAllowed || c.MCP[0].Timeout != time.Minute || c.MCP[0].Memory != 2048 || c.MCP[0].CPU != time.Hour || c.MCP[0].Tools.Read[0] != "read_file" {
		t.Errorf("%+v", c.MCP)
	}
	if s := c.MCP[1]; s.Headers["Authorization"] != "Bearer s3cr3t" || s.Who != ToolsOwner || s.Timeout != 5*time.Minute {
		t.Errorf("%+v", s)
	}
	if o := c.MCP[2].OAuth; !o.Enabled || o.ClientID != "me" || o.ClientSecret != "s3cr3t" || o.Scopes[0] != "orders" || c.SecretKey == "" {
		t.Errorf("%+v", o)
	}
	want := `{"properties":{"order":{"maxLength":20,"type":"string"}},"required":["order"],"type":"object"}`
	if h := c.Tools[0]; string(h.Parameters) != want || h.Secret != "s3cr3t" || h.Effect != ToolReads || h.Method != "POST" {
		t.Errorf("%+v", h)
	}
	if c.Turns.Approval != 10*time.Minute || c.People.Staff[0] != "telegram:1" {
		t.Errorf("%+v, %+v", c.Turns, c.People)
	}
	if shown := fmt.Sprintf("%+v", c); strings.Contains(shown, "s3cr3t") {
		t.Error("a secret is printed")
	}
}

func TestWrongTools(t *testing.T) {
	for yaml, want := range map[string]string{
		`mcp: [{name: a}]`: "has not exactly one of command and url",
		`mcp: [{name: a, command: [x], url: "http://x"}]`:           "has not exactly one of command and url",
		`mcp: [{name: "a b", command: [x]}]`:                        "mcp[0].name",
		`mcp: [{name: a, command: [x]}, {name: a, command: [y]}]`:   "is a duplicate",
		`mcp: [{name: a, url: "http://u:p@x"}]`:                     "is not a plain server URL",
		`mcp: [{name: a, url: "http://x", headers: {"A B": "x"}}]`:  "has an unusable name",
		`mcp: [{name: a, url: "http://x", headers: {A: "x\ny"}}]`:   "line break",
		`mcp: [{name: a, command: [x], timeout: 1h}]`:               "is not between 1s and 15m",
		`mcp: [{name: a, command: [x], tool: {}}]`:                  "is not a known key",
		`mcp: [{name: a, command: [x], memory: -1}]`:                "mcp[0].memory",
		`mcp: [{name: a, command: [x], cpu: 1ms}]`:                  "mcp[0].cpu",
		`mcp: [{name: a, url: "http://x", oauth: {enabled: true}}]`: "secret_key",
		`mcp: [{name: a, command: [x], oauth: {enabled: true}}]`:    "has no effect without a url",
		`secret_key: c2hvcnQ=
mcp: [{name: a, url: "http://x", oauth: {enabled: true}}]`: "is not 32 bytes",
		`mcp: [{name: a, url: "http://x", oauth: {enabled: true, client_secret: x}}]`:            "belongs to no client",
		`mcp: [{name: a, url: "http://x", oauth: {enabled: true, issuer: "x"}}]`:                 "mcp[0].oauth.issuer",
		`mcp: [{name: a, url: "http://x", headers: {authorization: x}, oauth: {enabled: true}}]`: "which oauth sets",
		`tools: [{name: A, url: "http://x"}]`:                                                    "tools[0].description",
		`tools: [{name: "a-b", description: x, url: "http://x"}]`:                                "tools[0].name",
		`tools: [{name: A, description: x}]`:                                                     "tools[0].url",
		`tools: [{name: A, description: x, url: "ftp://x"}]`:                                     "is not a plain server URL",
		`tools: [{name: A, description: x, url: "http://x", parameters: [a]}]`:                   "tools[0].parameters",
		`plugins: {web: {search: {provider: searxng}}}`:                                          "has no url",
		`plugins: {web: {search: {provider: brave}}}`:                                            "has no key",
		`plugins: {web: {search: {provider: google}}}`:                                           "is not one of these words",
		`turns: {approval: 0s}`:                                                                  "turns.approval",
	} {
		_, err := Parse("config.yaml", []byte(yaml), t.TempDir(), environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

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

func TestHooks(t *testing.T) {
	c := parse(t, `
hooks:
  - {name: build, secret: "${env:BUILD_SECRET}", room: "telegram:-100", prompt: "A build ended as {{status}}."}
  - {name: least, secret: "${env:BUILD_SECRET}", room: "telegram:-100", prompt: x, per_minute: 1}
  - {name: most, secret: "${env:BUILD_SECRET}", room: "telegram:-100", prompt: x, per_minute: 600}
`, map[string]string{"BUILD_SECRET": "0123456789abcdef"})
	if len(c.Hooks) != 3 || c.Hooks[0].Secret != "0123456789abcdef" || c.Hooks[0].PerMinute != 30 || c.Hooks[0].Quiet == QuietDrop {
		t.Errorf("%+v", c.Hooks)
	}
	if strings.Contains(fmt.Sprintf("%+v", c), "0123456789abcdef") {
		t.Error("a secret is printed")
	}
	const rest = `, room: "telegram:-100", prompt: x`
	for yaml, want := range map[string]string{
		`{name: a, secret: tooshort` + rest + `}`:                          "is shorter than 16 characters",
		`{name: a, secret: "0123456789 abcdef"` + rest + `}`:               "does not look like a token or key",
		`{name: a/b, secret: 0123456789abcdef` + rest + `}`:                "hooks[0].name",
		`{name: a, secret: 0123456789abcdef, room: "telegram:-100"}`:       "has not exactly one of prompt and text",
		`{name: a, secret: 0123456789abcdef, text: x}`:                     "hooks[0].room",
		`{name: a, secret: 0123456789abcdef, per_minute: 0` + rest + `}`:   "is not between 1 and 600",
		`{name: a, secret: 0123456789abcdef, per_minute: 601` + rest + `}`: "is not between 1 and 600",
	} {
		_, err := Parse("config.yaml", []byte("hooks: ["+yaml+"]"), t.TempDir(), environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

func TestSchedules(t *testing.T) {
	c := parse(t, `
timezone: Europe/Berlin
schedules:
  - {name: standup, cron: "0 9 * * 1-5", room: "telegram:-1001234567890", prompt: "Ask everyone what they do today."}
  - {name: tea, cron: "@daily", timezone: UTC, room: "telegram:123456789", text: Tea time!, jitter: 10m, missed: once, quiet: drop}
`, nil)
	if len(c.Schedules) != 2 || c.Schedules[0].Missed != "skip" || c.Schedules[0].Quiet != "wait" || c.Schedules[1].Jitter != 10*time.Minute {
		t.Fatalf("%+v", c.Schedules)
	}
	at := time.Date(2026, 7, 6, 12, 0, 0, 0, time.UTC)
	for i, want := range []string{"2026-07-06T07:00:00Z", "2026-07-06T00:00:00Z"} {
		times := require.Value(c.Times(c.Schedules[i]))(t)
		if got := times.Last(at).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s is last due at %s", c.Schedules[i].Name, got)
		}
	}
}

func TestWrongSchedules(t *testing.T) {
	const rest = `, cron: "0 9 * * *", room: "telegram:-100", prompt: x`
	for yaml, want := range map[string]string{
		`{name: a` + rest + `, text: y}`:                              "has not exactly one of prompt and text",
		`{name: a, cron: "0 9 * * *", room: "telegram:-100"}`:         "has not exactly one of prompt and text",
		`{name: "a b"` + rest + `}`:                                   "schedules[0].name",
		`{name: a` + rest + `}, {name: a` + rest + `}`:                "is a duplicate",
		`{name: a, cron: "0 9 * *", room: "telegram:-1", text: x}`:    "schedules[0].cron",
		`{name: a, cron: "0 9 31 2 *", room: "telegram:-1", text: x}`: "is not a cron expression that is ever due",
		`{name: a, cron: "0 9 * * *", text: x}`:                       "schedules[0].room",
		`{name: a, cron: "0 9 * * *", room: "here:1", text: x}`:       "is not a group, a channel or an account",
		`{name: a` + rest + `, timezone: Mars}`:                       "is not a time zone",
		`{name: a` + rest + `, jitter: 2h}`:                           "is not between 0s and 1h",
		`{name: a` + rest + `, missed: always}`:                       "is not one of these words",
	} {
		_, err := Parse("config.yaml", []byte("schedules: ["+yaml+"]"), t.TempDir(), environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}
