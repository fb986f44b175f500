package config

import (
	"slices"
	"strings"
	"testing"

	"parley/core/quota"
	"parley/internal/require"
)

func TestPricesAreRead(t *testing.T) {
	c, err := Parse("", []byte(`
models:
  large: {model: m, price: {input: 0.15, output: 0.6, cached: 0.0375}}
  small: {provider: openai, model: s, price: 0}
  transcription: {provider: openai, model: w, price: {minute: 0.006}}
  image: {provider: openai, model: i, price: {image: 0.04}}
providers: {openai: {api_key: sk}}
`), "", environment(nil), platforms...)
	require.NoError(t, err)
	for name, test := range map[string]struct {
		price Price
		want  quota.Price
		given bool
	}{
		"large":         {c.Models.Large.Price, quota.Price{Rates: quota.Rates{Input: 150_000, Cached: 37_500, CacheWrite: 150_000, Output: 600_000}}, true},
		"small":         {c.Models.Small.Price, quota.Price{}, true},
		"vision":        {c.Models.Vision.Price, quota.Price{}, false},
		"transcription": {c.Models.Transcription.Price, quota.Price{Hour: 360_000_000}, true},
		"image":         {c.Models.Image.Price, quota.Price{Image: 40_000_000}, true},
	} {
		if got, given := test.price.Given(); got != test.want || given != test.given {
			t.Errorf("%s: %+v, %v", name, got, given)
		}
	}
}

func TestWrongPricesAreRejected(t *testing.T) {
	for document, want := range map[string]string{
		"models: {large: {price: {as: gpt-4o}}}":                                    "models.large.price.as: the value is not a model of a provider; write both, such as openai/gpt-4o",
		"models: {large: {price: {as: openai/gpt-4o, input: 1}}}":                   "models.large.price: this has both a price and as; keep one of them",
		"models: {large: {price: 3}}":                                               "models.large.price: 3 is not a price",
		"models: {large: {price: {input: 3}}}":                                      "models.large.price: this has no output; set input and output",
		"models: {large: {price: {input: 3, output: 1, image: 1}}}":                 "models.large.price.image: 1 is not what such a model is billed by",
		"models: {large: {price: {input: 0.0000001, output: 1}}}":                   "models.large.price.input: 0.0000001 is not an amount of dollars",
		"models: {transcription: {model: w, price: {input: 1}}}":                    "models.transcription.price",
		"models: {image: {model: w, price: {minute: 1}}}":                           "models.image.price",
		"models: {embedding: {model: w, price: {input: 1, output: 1}}}":             "models.embedding.price.output: 1 is not what such a model is billed by; set input",
		"models: {chat: [{name: a, provider: demo, price: {output: 1}}]}":           "models.chat[0].price: this has no input",
		"models: {large: {price: 0}, chat: [{name: a, provider: demo}]}":            "models.large: this is set, and so is models.chat",
		"models: {chat: [{name: a, provider: demo, price: {input: x, output: 1}}]}": "models.chat[0].price.input",
	} {
		_, err := Parse("", []byte("providers: {openai: {api_key: sk}}\n"+document), "", environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", document, err)
		}
	}
}

// Only a provider's own address has the prices of the table.
func TestProvidersAtHome(t *testing.T) {
	for document, want := range map[string][]Provider{
		"{openai: {api_key: sk}, anthropic: {api_key: sk}}":                                                    {ProviderOpenAI, "anthropic"},
		"{openai: {base_url: 'http://127.0.0.1:1/v1'}, anthropic: {api_key: k, base_url: 'http://a.example'}}": nil,
	} {
		c := require.Value(Parse("", []byte("providers: "+document), "", environment(nil), platforms...))(t)
		for _, p := range []Provider{ProviderOpenAI, "anthropic", "ollama", "azure", ProviderDemo} {
			if got := c.AtHome(p); got != slices.Contains(want, p) {
				t.Errorf("%s: %s is at home: %v", document, p, got)
			}
		}
	}
}
