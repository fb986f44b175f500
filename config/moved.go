package config

import (
	"cmp"
	"regexp"
	"strings"
)

// moved are the keys of earlier versions, with the keys that replace them. Elements of lists are marked by [], and platforms by *.
var moved = map[string]string{ // never changed
	"owner":                     `people: {owners: ["PLATFORM:ID"]}`,
	"limits.approvers":          `people: {staff: ["PLATFORM:ID"]}`,
	"approvals.users":           `people: {staff: ["PLATFORM:ID"]}`,
	"models.switch.users":       `people: {staff: ["PLATFORM:ID"]}`,
	"access.allow.users":        `people: {allowed: ["PLATFORM:ID"]}`,
	"access.allow.roles":        `people: {allowed: ["PLATFORM:role:ID"]}`,
	"access.allow.rooms":        `access: {allow: ["PLATFORM:ID"]}`,
	"access.allow.worlds":       `access: {allow: ["PLATFORM:server:ID"]}`,
	"access.worlds":             `access: {rooms: ["PLATFORM:server:ID"]}`,
	"access.overrides[].worlds": `rooms: ["PLATFORM:server:ID"]`,
	"models.switch.direct":      `models: {switch: true}`,
	"approvals.timeout":         `turns: {approval: 1h}`,
	"limits.timezone":           `timezone: UTC`,
	"initiative.timezone":       `timezone: Local`,

	"connectors.*.enabled":                `token: "" to turn it off, or token: ${env:NAME} to require a token`,
	"providers.openai.enabled":            `api_key: "" and base_url: "" to turn it off, or api_key: ${env:OPENAI_API_KEY} to require a key`,
	"providers.anthropic.thinking":        `models: {large: {reasoning_effort: high}}`,
	"providers.anthropic.thinking_budget": `models: {large: {thinking_budget: TOKENS}}, or reasoning_effort: high there instead of auto`,
	"providers.gemini.thinking_budget":    `models: {large: {thinking_budget: TOKENS}}`,
	"connectors.*.mode":                   `webhook_url: https://chat.example.org to receive by webhook, or webhook_url: "" to poll`,
	"agent.multi_step":                    `agent: {generation: xml_steps}`,
	"agent.recall_backfill":               `agent: {recall: meaning_all}`,
	"web.reasoning":                       `models: {large: {thinking: public}}`,
	"web.accounts.algorithm":              "nothing: the key decides on the algorithm",
	"web.tls.domains":                     `web: {tls: [chat.example.org]}`,
	"secrets.key":                         "secret_key: ${env:PARLEY_SECRET_KEY}",
	"shutdown.grace":                      `shutdown: 20s`,
}

// idle are the values of keys of earlier versions that are the default now, where that was not auto or false.
var idle = map[string]string{"providers.anthropic.thinking": "off", "providers.anthropic.thinking_budget": "0"} // never changed

var (
	index    = regexp.MustCompile(`\[\d+\]`)
	platform = regexp.MustCompile(`^connectors\.\w+\.`)
)

// reportMoved reports whether f, a key at path, or a key below it is one of earlier versions. It reports what to write instead.
func (d *decoder) reportMoved(path string, f field) (found bool) {
	key := platform.ReplaceAllString(index.ReplaceAllString(path, "[]"), "connectors.*.")
	if instead := moved[key]; instead != "" {
		hint := "write " + instead
		if v := f.value; v.kind == list && len(v.items) == 0 || v.text == cmp.Or(idle[key], "auto") || v.text == "false" && !strings.HasSuffix(path, ".enabled") {
			hint = "remove the line"
		}
		d.report(f.line, f.column, path, "is not a key any more", hint)
		return true
	}
	for _, below := range f.value.fields {
		found = d.reportMoved(join(path, below.key), below) || found
	}
	return found
}
