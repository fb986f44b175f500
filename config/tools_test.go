package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
