package config

import (
	"strings"
	"testing"

	"parley/core/quota"
)

// Each model has its own parameters.
func TestParameters(t *testing.T) {
	c := parse(t, chatKey+`models:
  chat:
    - {name: a, model: m, top_p: 0.5, stop: [END, "\n\n"], seed: 7, reasoning_effort: high, extra_body: {top_k: 40, deep: {on: true}}}
    - {name: b, model: n}
`, nil)
	p := c.Models.Chat[0].Parameters
	if *p.TopP != 0.5 || strings.Join(p.Stop, "|") != "END|\n\n" || *p.Seed != 7 || *p.ReasoningEffort != "high" {
		t.Errorf("%+v", p)
	}
	if deep, ok := p.Extra()["deep"].(map[string]any); !ok || deep["on"] != true || p.Extra()["top_k"] != float64(40) {
		t.Errorf("the body also has %v", p.Extra())
	}
	if p := c.Models.Chat[1].Parameters; len(p.given()) != 0 || p.Extra() != nil {
		t.Errorf("without: %+v", p)
	}
}

// Parameters that the provider's requests don't have are refused, with their place and what to do.
func TestParametersAreChecked(t *testing.T) {
	const keys = "providers: {anthropic: {api_key: k}, gemini: {api_key: k}, responses: {api_key: k}, openai: {api_key: k}}\n"
	for large, want := range map[string]string{
		"{model: m, top_p: 0}":                                               "models.large.top_p: 0 is not above 0 and at most 1; set auto",
		"{model: m, temperature: 3}":                                         "models.large.temperature: 3 is not between 0 and 2",
		"{model: m, stop: [a, b, c, d, e]}":                                  "models.large.stop: this has more than 4 texts; remove some",
		"{model: m, stop: ['']}":                                             "models.large.stop[0]: the value is empty",
		"{model: m, reasoning_effort: lots}":                                 "models.large.reasoning_effort: \"lots\" is not",
		"{model: m, extra_body: {messages: []}}":                             "models.large.extra_body: this has messages, which Parley sets itself; remove that key",
		"{model: m, extra_body: {tools: null}}":                              "models.large.extra_body: this has tools, which Parley sets itself",
		"{model: m, extra_body: {max_tokens: 7}}":                            "models.large.extra_body: this has max_tokens, which Parley sets itself",
		"{model: m, extra_body: {stream_options: null, max_tokens: null}}":   "",
		"{provider: anthropic, model: m, seed: 1}":                           "models.large.seed: 1 is a parameter that Anthropic does not have; remove it",
		"{provider: anthropic, model: m, reasoning_effort: none}":            "models.large.reasoning_effort: \"none\" is not an effort of Anthropic; write one of low, medium, high, xhigh, max",
		"{provider: gemini, model: m, reasoning_effort: max}":                "models.large.reasoning_effort: \"max\" is not an effort of Google Gemini; write one of minimal, low, medium, high",
		"{provider: responses, model: m, stop: [a]}":                         "models.large.stop: this is a parameter that OpenAI Responses does not have",
		"{provider: responses, model: m, seed: 1}":                           "models.large.seed: 1 is a parameter that OpenAI Responses does not have",
		"{model: m, seed: -1}":                                               "models.large.seed: -1 is negative",
		"{provider: anthropic, model: m, thinking_budget: 1000}":             "models.large.thinking_budget: 1000 is less than 1024; set at least 1024 tokens, or 0",
		"{provider: gemini, model: m, thinking_budget: -1}":                  "models.large.thinking_budget: -1 is negative",
		"{provider: responses, model: m, thinking_budget: 1024}":             "models.large.thinking_budget: 1024 is a parameter that the provider does not have; set reasoning_effort instead",
		"{provider: openai, model: m, thinking_budget: 1024}":                "models.large.thinking_budget: 1024 is a parameter that the provider does not have; set reasoning_effort instead",
		"{model: m, thinking: loud}":                                         "models.large.thinking: \"loud\" is not",
		"{provider: anthropic, model: m, thinking_budget: 0}":                "",
		"{provider: gemini, model: m, thinking_budget: 1, thinking: full}":   "",
		"{provider: openai, model: m, top_p: 1, seed: 1, stop: [a]}":         "",
		"{provider: anthropic, model: m, reasoning_effort: low, stop: [a]}":  "",
		"{provider: gemini, model: m, reasoning_effort: low, seed: 2}":       "",
		"{provider: responses, model: m, reasoning_effort: none, top_p: .5}": "",
	} {
		_, err := Parse("", []byte(keys+"models:\n  large: "+large), "", environment(nil), platforms...)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s:\n%v\nwant %s", large, err, want)
		}
	}
}

// Reasoning of a public web chat is shown only where the owner says so.
func TestReasoningInPublic(t *testing.T) {
	const open = "providers: {openai: {api_key: k}}\nweb: {public: true, origins: [\"https://a.example\"]}\nmodels:\n  "
	for models, want := range map[string]string{
		"large: {model: m, thinking: full}":                                "models.large.thinking",
		"chat: [{name: a, model: m}, {name: b, model: n, thinking: full}]": "models.chat[1].thinking",
		"large: {model: m, thinking: off}":                                 "",
		"large: {model: m}":                                                "",
	} {
		_, err := Parse("", []byte(open+models), "", environment(nil), platforms...)
		if want += ": \"full\" shows reasoning to anyone who can reach the web chat; set thinking: public if you want that"; strings.HasPrefix(want, ":") {
			want = ""
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s:\n%v\nwant %s", models, err, want)
		}
		if _, err := Parse("", []byte(open+strings.ReplaceAll(models, "full", "public")), "", environment(nil), platforms...); err != nil {
			t.Errorf("%s: %v", models, err)
		}
	}
}

// A soft limit that the hard one never lets be reached is refused; it needs prices as that does.
func TestSoftLimits(t *testing.T) {
	c := parse(t, chatKey+"limits: {room: {usd: 1, soft_usd: 0.50}}\n", nil)
	if c.Limits.Room.SoftUSD != quota.Dollar/2 || c.Limits.MoneyLimit() != "limits.room.soft_usd" {
		t.Errorf("%+v", c.Limits)
	}
	_, err := Parse("", []byte(chatKey+"limits: {total: {usd: 1, soft_usd: 1}}\n"), "", environment(nil), platforms...)
	if err == nil || !strings.Contains(err.Error(), "limits.total.soft_usd: 1 is not below usd, which always ends the answer; set less") {
		t.Error(err)
	}
}
