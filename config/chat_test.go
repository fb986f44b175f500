package config

import (
	"strings"
	"testing"
)

const chatKey = "providers: {openai: {api_key: k}, groq: {api_key: k}}\n"

// The first of several models is the one that answers, which other settings refer to.
func TestSeveralModels(t *testing.T) {
	c := parse(t, chatKey+`models:
  chat:
    - {name: fast, provider: groq, model: m, temperature: 0.5, vision: true, fallback: [slow, slower]}
    - {name: slow, model: n}
    - {name: slower, provider: demo}
`, map[string]string{"OPENAI_MODEL": "other"})
	if c.LargeProvider() != "groq" || c.Models.Large.Model != "m" || !c.Models.Large.Sees() || *c.Models.Large.Temperature != 0.5 {
		t.Errorf("the large model is %+v", c.Models.Large)
	}
	if all := c.Models.Chat; len(all) != 3 || all[1].Name != "slow" || len(all[0].Fallback) != 2 {
		t.Errorf("the models are %+v", all)
	}
	if c := parse(t, chatKey, map[string]string{"OPENAI_MODEL": "other"}); len(c.Models.Chat) != 0 || c.Models.Large.Model != "other" {
		t.Errorf("without a list: %+v", c.Models)
	}
}

// What is wrong with a list of models has its place, and says what to write.
func TestSeveralModelsAreChecked(t *testing.T) {
	const a, b = "{name: a, model: m}", "{name: b, model: m}"
	for list, want := range map[string]string{
		"[{model: m}]":                                                             "3:11: models.chat[0]: this has no name; give it one",
		"[{name: 'a b', model: m}]":                                                "models.chat[0].name: the value is not a name; use at most 40 letters",
		"[" + a + ", " + a + "]":                                                   "models.chat[1].name: the value is the name of two models",
		"[" + a + ", {name: b}]":                                                   "models.chat[1]: this has no model; write model:",
		"[{name: a, model: m, provider: gorq}]":                                    "models.chat[0].provider: \"gorq\" is not a provider; did you mean groq?",
		"[{name: a, model: m, provider: xai}]":                                     "models.chat[0].provider: \"xai\" is a provider that is off; set XAI_API_KEY",
		"[{name: a, model: m, temperature: 3}]":                                    "models.chat[0].temperature: 3 is not between 0 and 2",
		"[{name: a, model: m, max_tokens: -1}]":                                    "models.chat[0].max_tokens: -1 is negative",
		"[{name: fast, model: m, fallback: [fats]}, {name: slow, model: m}]":       "models.chat[0].fallback[0]: the value is not the name of a model in models.chat; did you mean fast? the models are fast, slow",
		"[{name: a, model: m, fallback: [a]}]":                                     "models.chat[0].fallback[0]: the value is the model itself",
		"[{name: a, model: m, fallback: [b]}, {name: b, model: m, fallback: [a]}]": "models.chat[0].fallback: this is a circle: a → b → a; remove one",
		"[{name: a, model: m, speed: 1}]":                                          "models.chat[0].speed: is not a known key",
		"[" + a + ", " + b + "]\n  large: {model: other}":                          "models.large: this is set, and so is models.chat; keep one of them",
	} {
		_, err := Parse("", []byte(chatKey+"models:\n  chat: "+list), "", environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant %s", list, err, want)
		}
	}
}
