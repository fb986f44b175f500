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
