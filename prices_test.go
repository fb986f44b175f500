package parley

import (
	"path/filepath"
	"strings"
	"testing"

	"parley/config"
	"parley/core/llm"
	"parley/internal/require"
	"parley/models/demo"
)

// parsed returns a configuration with a key for OpenAI.
func parsed(t *testing.T, yaml string) config.Config {
	t.Helper()
	cfg, err := config.Parse("config.yaml", []byte("providers: {openai: {api_key: sk}, azure: {base_url: 'https://a.openai.azure.com/openai/v1', api_key: k}}\n"+yaml), "", func(string) (string, bool) { return "", false }, described()...)
	require.NoError(t, err)
	return cfg
}

func TestCheckStatesPricesAndTheirDate(t *testing.T) {
	for yaml, want := range map[string]string{
		"models: {large: {model: gpt-4o-mini}}":                                                                           "models.large: $0.15 in, $0.60 out per million tokens; prices of 2026-",
		"models: {large: {model: gpt-4o-mini, price: {input: 1, output: 0.002}}}":                                         "models.large: $1.00 in, $0.0020 out per million tokens",
		"models: {large: {model: our-own}}":                                                                               "models.large: unknown, set models.large.price (0 if it costs nothing, {as: openai/gpt-4o} if it costs as much",
		"models: {large: {provider: azure, model: my-mini, price: {as: openai/gpt-4o-mini}}}":                             "models.large: $0.15 in, $0.60 out per million tokens; prices of 2026-",
		"models: {large: {provider: azure, model: gpt-4o-mini}}":                                                          "models.large: unknown, set models.large.price (0 if it costs nothing, {as: openai/gpt-4o-mini} if",
		"models: {large: {provider: demo}, transcription: {provider: azure, model: ears, price: {as: openai/whisper-1}}}": "models.large: free; models.transcription: $0.36 per hour",
		"models: {large: {provider: demo}}":                                                                               "models.large: free",
		`models:
  chat: [{name: a, model: gpt-4o-mini}, {name: b, provider: openai, model: gpt-4o-mini, price: 0}]
  transcription: {model: whisper-1}
  image: {model: gpt-image-1}
  embedding: {model: text-embedding-3-small}`: "models.chat[0]: $0.15 in, $0.60 out per million tokens; models.chat[1]: free; models.transcription: $0.36 per hour; " +
			"models.image: unknown, set models.image.price (0 if it costs nothing); models.embedding: $0.020 per million tokens; prices of 2026-",
	} {
		got, err := checkPrices(parsed(t, yaml)).check(t.Context())
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, %v; want it to begin with %s", yaml, got, err, want)
		}
	}
}

// A price as that of a model which is not in the table is an error with the nearest names, also without a limit.
func TestPricesAsOfUnknownModels(t *testing.T) {
	for as, want := range map[string]string{
		"openai/gpt-4o-mni":    `models.large.price.as: the table has no price for "openai/gpt-4o-mni"; did you mean openai/gpt-4o-mini`,
		"opnai/gpt-4o":         "did you mean openai/gpt-4o",
		"azure/our-deployment": "write a provider of the table (openai, ",
		"openai/gpt-4o":        "",
	} {
		cfg := parsed(t, "models: {large: {provider: azure, model: our-own, price: {as: "+as+"}}}")
		if err := requirePrices(cfg); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", as, err)
		}
	}
	cfg := parsed(t, "models: {image: {provider: azure, model: i, price: {as: openai/gpt-image-1}}}")
	if err := requirePrices(cfg); err == nil || !strings.Contains(err.Error(), "it has none of images; set models.image.price: {image: 0.04}") {
		t.Errorf("an image: %v", err)
	}
}

// With a limit of money, every model that can be asked needs a price, also one that only continues for another.
func TestLimitsOfMoneyNeedPrices(t *testing.T) {
	for yaml, want := range map[string]string{
		"models: {large: {model: gpt-4o-mini}}\nlimits: {person: {usd: 0.5}}":                                                               "",
		"models: {large: {model: our-own}}":                                                                                                 "",
		"models: {large: {model: our-own, price: 0}}\nlimits: {total: {usd: 1}}":                                                            "",
		"models: {large: {provider: demo}}\nlimits: {total: {usd: 1}}":                                                                      "",
		"models: {large: {model: our-own}}\nlimits: {person: {usd: 0.5}}":                                                                   "models.large: the price of openai/our-own is unknown, but limits.person.usd",
		"models: {large: {model: gpt-4o-mini}, small: {model: our-own}}\nlimits: {room: {usd: 1}}":                                          "models.small: the price of openai/our-own is unknown, but limits.room.usd",
		"models: {large: {model: gpt-4o-mini}, image: {model: gpt-image-1}}\nlimits: {total: {usd: 1}}":                                     "set models.image.price",
		"models: {large: {model: gpt-4o-mini}, transcription: {model: own}}\nlimits: {total: {usd: 1}}":                                     "set models.transcription.price",
		"models: {large: {model: gpt-4o-mini}, embedding: {model: own}}\nlimits: {total: {usd: 1}}":                                         "set models.embedding.price",
		"models: {chat: [{name: a, model: gpt-4o-mini, fallback: [b]}, {name: b, provider: openai, model: x}]}\nlimits: {person: {usd: 1}}": "models.chat[1]: the price of openai/x",
	} {
		cfg := parsed(t, yaml)
		cfg.Store, cfg.Web.Listen = config.DSN("sqlite:"+filepath.Join(t.TempDir(), "p.db")), "127.0.0.1:0"
		_, err := checkPrices(cfg).check(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: check: %v", yaml, err)
		}
		if want == "" {
			continue
		}
		if _, err := New(cfg, Env{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

// Models of an embedding program have the price that the configuration says.
func TestPricesOfEmbeddedModels(t *testing.T) {
	env := Env{Models: llm.Models{Large: demo.New(), Small: demo.New()}}
	cfg := parsed(t, "models: {large: {price: {input: 1, output: 2}}}\nlimits: {person: {usd: 1}}")
	if err := requirePrices(env.applyTo(cfg)); err == nil || strings.Contains(err.Error(), "models.large") || !strings.Contains(err.Error(), "models.small: the price of embedded") {
		t.Errorf("%v", err)
	}
	got := tariffs(env.applyTo(cfg), env.Models).Chat[llm.DefaultName]
	if !got.Known || got.Name != "embedded" || got.Price.Output != 2e6 {
		t.Errorf("%+v", got)
	}
}
