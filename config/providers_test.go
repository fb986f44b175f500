package config

import (
	"strings"
	"testing"
)

// Which provider answers, and which one a slot's model is of.
func TestProvidersOfModels(t *testing.T) {
	const groq, openai = "providers: {groq: {api_key: k}}\n", "providers: {openai: {api_key: k}, groq: {api_key: k}}\n"
	tests := map[string]struct {
		yaml         string
		large, small Provider
	}{
		"nothing":                      {"", ProviderDemo, ProviderOpenAI},
		"another, without a model":     {groq, ProviderDemo, ProviderOpenAI},
		"another, with a model":        {groq + "models: {large: {model: m}}", "groq", "groq"},
		"two others, with a model":     {"providers: {groq: {api_key: k}, xai: {api_key: k}}\nmodels: {large: {model: m}}", ProviderDemo, ProviderOpenAI},
		"the key of one that is off":   {"providers: {openai: {api_key: \"\"}, responses: {api_key: k}}\nmodels: {large: {model: m}}", ProviderDemo, ProviderOpenAI},
		"OpenAI goes before":           {openai + "models: {large: {model: m}}", ProviderOpenAI, ProviderOpenAI},
		"named":                        {openai + "models: {large: {provider: groq, model: m}, small: {model: s}}", "groq", "groq"},
		"named with another slot's":    {openai + "models: {large: {provider: groq, model: m}, small: {provider: openai, model: s}}", "groq", ProviderOpenAI},
		"a slot's named with OpenAI's": {openai + "models: {small: {provider: groq, model: s}}", ProviderOpenAI, "groq"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := parse(t, test.yaml, nil)
			if large, small := c.LargeProvider(), c.SlotProvider(c.Models.Small); large != test.large || small != test.small {
				t.Errorf("large is of %s, small of %s", large, small)
			}
		})
	}
}

// What is wrong with a model's provider has its place, and says what to write.
func TestProvidersAreChecked(t *testing.T) {
	for yaml, want := range map[string]string{
		"models: {large: {provider: gorq}}":                                                               "1:28: models.large.provider: \"gorq\" is not a provider; did you mean groq?",
		"models: {small: {provider: zzzzzzzzzzz, model: m}}":                                              "models.small.provider: \"zzzzzzzzzzz\" is not a provider; the providers are openai, demo, ",
		"models: {large: {provider: groq, model: m}}":                                                     "models.large.provider: \"groq\" is a provider that is off; set GROQ_API_KEY, or providers.groq.api_key in the file",
		"models: {large: {provider: ollama, model: m}}":                                                   "set OLLAMA_BASE_URL, or providers.ollama.base_url in the file",
		"models: {embedding: {provider: groq, model: m}}":                                                 "models.embedding.provider: \"groq\" is a model of groq, which has none for embeddings; set models.embedding.provider to openai, ",
		"providers: {groq: {api_key: 'a b'}}":                                                             "providers.groq.api_key: the value does not look like a token or key",
		"providers: {groq: {base_url: 'https://k@groq.test'}}":                                            "providers.groq.base_url: the value is not a plain server URL",
		"providers: {gruq: {}}":                                                                           "providers.gruq: is not a known key; did you mean groq?",
		"providers: {groq: {api_key: k}}\nmodels: {large: {provider: groq, model: m}, image: {model: i}}": "models.image.model: the value is a model of groq, which has none for image generation",
	} {
		_, err := Parse("", []byte(yaml), "", environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v", yaml, err)
		}
	}
}

const twoModels = chatKey + "models:\n  chat: [{name: main, model: m}, {name: fast, model: n, tools: false, prompt_tokens: 4000}]\n"

// Rooms and people can have models of their own, and people can be let to switch.
func TestModelsOfRooms(t *testing.T) {
	c := parse(t, twoModels+`  switch: true
access:
  overrides:
    - {rooms: ["telegram:-1"], model: fast}
    - {users: ["telegram:2"], model: main}
`, nil)
	if all := c.Access.Overrides; all[0].Model != "fast" || all[1].Model != "main" || len(all[1].Users) != 1 || !*c.Models.Switch {
		t.Errorf("%+v, %+v", all, c.Models.Switch)
	}
	if fast := c.Models.Chat[1]; *fast.Tools || fast.PromptTokens != 4000 || c.Models.Chat[0].Tools != nil {
		t.Errorf("the models are %+v", c.Models.Chat)
	}
	public := "web: {public: true, origins: ['https://a.example']}\n"
	for text, want := range map[string][2]bool{
		"":                                  {false, true},
		public:                              {false, false},
		"models: {switch: true}\n":          {true, true},
		public + "models: {switch: true}\n": {true, true},
		"models: {switch: false}\n":         {false, false},
	} {
		if direct, web := parse(t, text, nil).SwitchDirect(); [2]bool{direct, web} != want {
			t.Errorf("%q: direct %t, web %t", text, direct, web)
		}
	}
}

func TestModelsOfRoomsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"access: {allow: ['telegram:-1', telegram]}":                                                      "access.allow[1]: the value is a whole platform",
		twoModels + "access: {overrides: [{rooms: ['telegram:-1'], model: fats}]}":                        "access.overrides[0].model: the value is not the name of a model in models.chat; did you mean fast? the models are main, fast",
		chatKey + "access: {overrides: [{rooms: ['telegram:-1'], model: fast}]}":                          "access.overrides[0].model: the value is the name of a model, and models.chat has none; list the models",
		twoModels + "access: {overrides: [{users: ['telegram:1']}]}":                                      "access.overrides[0]: this is for users, and has more than a model, or none",
		twoModels + "access: {overrides: [{users: ['telegram:1'], model: fast, group: off}]}":             "access.overrides[0]: this is for users, and has more than a model, or none",
		twoModels + "access: {overrides: [{users: ['telegram:1'], rooms: ['telegram:-2'], model: main}]}": "access.overrides[0].users: this is set beside rooms; write two overrides",
		chatKey + "models: {chat: [{name: Default, model: m}]}":                                           "models.chat[0].name: the value is what people write to take their choice back",
		chatKey + "models: {chat: [{name: a, model: m, prompt_tokens: 10}]}":                              "models.chat[0].prompt_tokens: 10 is less than 1000",
	} {
		_, err := Parse("", []byte(text), "", environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant %s", text, err, want)
		}
	}
}

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
