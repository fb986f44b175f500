package parley

import (
	"strings"
	"testing"

	"parley/config"
)

// parsed returns a configuration with a key for OpenAI.
func parsed(t *testing.T, yaml string) config.Config {
	t.Helper()
	cfg, err := config.Parse("config.yaml", []byte("providers: {openai: {api_key: sk}}\n"+yaml), "", func(string) (string, bool) { return "", false }, described()...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestCheckStatesPricesAndTheirDate(t *testing.T) {
	for yaml, want := range map[string]string{
		"models: {large: {model: gpt-4o-mini}}":                                   "models.large: $0.15 in, $0.60 out per million tokens; prices of 2026-",
		"models: {large: {model: gpt-4o-mini, price: {input: 1, output: 0.002}}}": "models.large: $1.00 in, $0.0020 out per million tokens",
		"models: {large: {model: our-own}}":                                       "models.large: unknown, set models.large.price",
		"models: {large: {provider: demo}}":                                       "models.large: free",
		`models:
  chat: [{name: a, model: gpt-4o-mini}, {name: b, provider: openai, model: gpt-4o-mini, price: 0}]
  transcription: {model: whisper-1}
  image: {model: gpt-image-1}
  embedding: {model: text-embedding-3-small}`: "models.chat[0]: $0.15 in, $0.60 out per million tokens; models.chat[1]: free; models.transcription: $0.36 per hour; " +
			"models.image: unknown, set models.image.price; models.embedding: $0.020 per million tokens; prices of 2026-",
	} {
		got, err := checkPrices(parsed(t, yaml)).check(t.Context())
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, %v", yaml, got, err)
		}
	}
}
