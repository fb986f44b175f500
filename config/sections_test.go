package config

import (
	"slices"
	"strings"
	"testing"
)

func TestSectionsAreOnWhenTheyHaveWhatTheyNeed(t *testing.T) {
	const discord, telegram, openai = "Discord", "Telegram", "OpenAI"
	tests := []struct {
		name, yaml string
		variables  map[string]string
		on         []string
		provider   Provider
	}{
		{"nothing", "", nil, nil, ProviderDemo},
		{"tokens", "", map[string]string{"DISCORD_TOKEN": "a.b.c", "TELEGRAM_TOKEN": "1:a"}, []string{discord, telegram}, ProviderDemo},
		{"key", "", map[string]string{"OPENAI_API_KEY": "a"}, []string{openai}, ProviderOpenAI},
		{"server without a key", "", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1234/v1"}, []string{openai}, ProviderOpenAI},
		{"demo although there is a key", "models: {large: {provider: demo}}", map[string]string{"OPENAI_API_KEY": "a"}, []string{openai}, ProviderDemo},
		{"turned off", "connectors: {discord: {token: \"\"}}\nproviders: {openai: {api_key: \"\"}}",
			map[string]string{"DISCORD_TOKEN": "a.b.c", "OPENAI_API_KEY": "a"}, nil, ProviderDemo},
		{"wanted and given", "connectors: {discord: {token: \"${env:DISCORD_TOKEN}\"}}", map[string]string{"DISCORD_TOKEN": "a.b.c"}, []string{discord}, ProviderDemo},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := parse(t, test.yaml, test.variables)
			connected := map[string]bool{openai: c.OpenAIOn(), discord: false, telegram: false}
			for _, s := range c.ConnectorsOn() {
				connected[s.Title] = true
			}
			for name, on := range connected {
				if on != slices.Contains(test.on, name) {
					t.Errorf("%s is on: %v", name, on)
				}
				said := slices.ContainsFunc(c.Off(), func(line string) bool { return strings.HasPrefix(line, name+" is off") })
				if said == on {
					t.Errorf("%s is on: %v, but Off says %q", name, on, c.Off())
				}
			}
			if got := c.LargeProvider(); got != test.provider {
				t.Errorf("provider %q, want %q", got, test.provider)
			}
		})
	}
}

func TestOffSaysHowToTurnOn(t *testing.T) {
	got := strings.Join(parse(t, "connectors: {discord: {token: \"\"}}", nil).Off(), "\n")
	want := `OpenAI is off, the demo model is used: set OPENAI_API_KEY (or OPENAI_BASE_URL for your own server), or providers.openai.api_key in the file
Discord is off: set DISCORD_TOKEN, or connectors.discord.token in the file
Telegram is off: set TELEGRAM_TOKEN, or connectors.telegram.token in the file`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// Tasks without a model are listed in one line, except with the demo model, which is not expected to have more.
func TestOffSaysWhatNoModelDoes(t *testing.T) {
	key := map[string]string{"OPENAI_API_KEY": "a", "DISCORD_TOKEN": "a.b.c", "TELEGRAM_TOKEN": "1:a"}
	const all = "no model for image descriptions, transcription, image generation, speech, semantic search: " +
		"set models.vision.model, models.transcription.model, models.image.model, models.speech.model, models.embedding.model"
	tests := []struct{ name, yaml, want string }{
		{"none", "", all},
		{"small alone", "models: {small: {model: s}}", all},
		{"a large one that sees", "models: {large: {vision: true}, image: {model: i}, speech: {model: s}, embedding: {model: e}}",
			"no model for transcription: set models.transcription.model"},
		{"all", "models: {vision: {model: v}, transcription: {model: t}, image: {provider: openai, model: i}, speech: {model: s, voice: nova}, embedding: {model: e}}", ""},
		{"demo", "models: {large: {provider: demo}}", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(parse(t, test.yaml, key).Off(), "\n"); got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
