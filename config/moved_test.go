package config

import (
	"strings"
	"testing"
)

// An old key is an error that names the new one. An old key without a value only has to be removed.
func TestOldKeysNameTheNewOnes(t *testing.T) {
	for yaml, want := range map[string]string{
		"owner: ['telegram:1']":                                    `1:1: owner: is not a key any more; write people: {owners: ["PLATFORM:ID"]}`,
		"owner: []":                                                `1:1: owner: is not a key any more; remove the line`,
		"limits: {timezone: UTC}":                                  `limits.timezone: is not a key any more; write timezone: UTC`,
		"approvals:\n  users: ['telegram:1']":                      `2:3: approvals.users: is not a key any more; write people: {staff: ["PLATFORM:ID"]}`,
		"approvals: {timeout: 2h}":                                 `approvals.timeout: is not a key any more; write turns: {approval: 1h}`,
		"models: {switch: {users: ['telegram:1']}}":                `models.switch.users: is not a key any more; write people: {staff: `,
		"models: {switch: {direct: true}}":                         `models.switch.direct: is not a key any more; write models: {switch: true}`,
		"access: {allow: {roles: ['discord:1']}}":                  `access.allow.roles: is not a key any more; write people: {allowed: ["PLATFORM:role:ID"]}`,
		"access: {allow: {users: []}}":                             `access.allow.users: is not a key any more; remove the line`,
		"access: {overrides: [{worlds: ['discord:1'], model: m}]}": `access.overrides[0].worlds: is not a key any more; write rooms: ["PLATFORM:server:ID"]`,
		"connectors: {telegram: {enabled: false}}":                 `connectors.telegram.enabled: is not a key any more; write token: "" to turn it off, or token: ${env:NAME} to require a token`,
		"connectors: {discord: {enabled: auto}}":                   `connectors.discord.enabled: is not a key any more; remove the line`,
		"providers: {openai: {enabled: true}}":                     `providers.openai.enabled: is not a key any more; write api_key: "" and base_url: "" to turn it off, or api_key: ${env:OPENAI_API_KEY} to require a key`,
		"providers: {anthropic: {thinking: adaptive}}":             `providers.anthropic.thinking: is not a key any more; write models: {large: {reasoning_effort: high}}`,
		"providers: {anthropic: {thinking: off}}":                  `providers.anthropic.thinking: is not a key any more; remove the line`,
		"providers: {anthropic: {thinking_budget: 0}}":             `providers.anthropic.thinking_budget: is not a key any more; remove the line`,
		"providers: {anthropic: {thinking_budget: 2000}}":          `providers.anthropic.thinking_budget: is not a key any more; write models: {large: {thinking_budget: TOKENS}}, or reasoning_effort: high there instead of auto`,
		"providers: {anthropic: {thinking_budget: auto}}":          `providers.anthropic.thinking_budget: is not a key any more; write models: {large: {thinking_budget: TOKENS}}, or reasoning_effort: high there instead of auto`,
		"providers: {gemini: {thinking_budget: 0}}":                `providers.gemini.thinking_budget: is not a key any more; write models: {large: {thinking_budget: TOKENS}}`,
		"providers: {gemini: {thinking_budget: auto}}":             `providers.gemini.thinking_budget: is not a key any more; remove the line`,
		"connectors: {telegram: {mode: webhook}}":                  `connectors.telegram.mode: is not a key any more; write webhook_url: https://chat.example.org to receive by webhook, or webhook_url: "" to poll`,
		"agent: {multi_step: true}":                                `agent.multi_step: is not a key any more; write agent: {generation: xml_steps}`,
		"agent: {multi_step: false}":                               `agent.multi_step: is not a key any more; remove the line`,
		"agent: {recall_backfill: true}":                           `agent.recall_backfill: is not a key any more; write agent: {recall: meaning_all}`,
		"web: {reasoning: true}":                                   `web.reasoning: is not a key any more; write models: {large: {thinking: public}}`,
		"web: {tls: {domains: [a.example]}}":                       `web.tls.domains: is not a key any more; write web: {tls: [chat.example.org]}`,
		"secrets: {key: k}":                                        `secrets.key: is not a key any more; write secret_key: ${env:PARLEY_SECRET_KEY}`,
		"shutdown:\n  grace: 1m":                                   `2:3: shutdown.grace: is not a key any more; write shutdown: 20s`,
		"approvals: {timeout: 2h, other: 1}":                       `approvals.timeout: is not a key any more; write turns: {approval: 1h}`,
		"approvals: {other: 1, timeout: 2h}":                       `approvals.timeout: is not a key any more; write turns: {approval: 1h}`,
		"approvals: {other: 1}":                                    `approvals: is not a known key`,
		"access: {allow: {other: 1}}":                              `access.allow: this is a section, but should be a list`,
	} {
		_, err := Parse("", []byte(yaml), "", environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", yaml, err, want)
		} else if unknown := "is not a known key"; strings.Contains(err.Error(), unknown) && !strings.Contains(want, unknown) {
			t.Errorf("%s: %v; want no second error that says %q", yaml, err, unknown)
		}
	}
}

// Roles and servers are told from accounts and channels.
func TestMembersAndServers(t *testing.T) {
	c := parse(t, `
people:
  owners: ["telegram:1"]
  staff: ["discord:2", "discord:role:3"]
  allowed: ["web:ada", "telegram:-1001234567890"]
  blocked: ["discord:role:4"]
access: {rooms: ["discord:5", "discord:server:6"]}
`, nil)
	if id, ok := c.People.Staff[1].Role(); !ok || id != "discord:3" {
		t.Errorf("a role: %q, %v", id, ok)
	}
	if _, ok := c.People.Staff[0].Role(); ok {
		t.Error("an account is a role")
	}
	if _, ok := Member("web:a:role:b").Role(); ok {
		t.Error("an account of the web chat is a role")
	}
	if id, ok := c.Access.Rooms[1].Server(); !ok || id != "discord:6" {
		t.Errorf("a server: %q, %v", id, ok)
	}
	for yaml, want := range map[string]string{
		"people: {owners: ['discord:role:1']}":                             "people.owners[0]: the value is not an account id",
		"people: {staff: ['telegram:role:1']}":                             "people.staff[0]: the value is not an account or a role",
		"people: {owners: ['telegram:1'], blocked: ['telegram:1']}":        "people.blocked[0]: the value is also in people.owners",
		"people: {staff: ['discord:role:1'], blocked: ['discord:role:1']}": "people.blocked[0]: the value is also in people.staff",
		"mcp: [{name: a, command: [x], rooms: ['discord:role:1']}]":        "mcp[0].rooms[0]: the value is not a group, a channel or a server",
		"timezone: Mars": "timezone: the value is not a time zone",
	} {
		if _, err := Parse("", []byte(yaml), "", environment(nil), platforms...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", yaml, err, want)
		}
	}
}
