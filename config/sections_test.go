package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/connectors/discord"
	"parley/internal/sections"
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

var (
	// catalog has the sections of all platforms and providers: the schema and config.yaml describe them. Only tests outside of the
	// package can import them, and set them.
	catalog []sections.Section
	// platforms are the sections of the catalog that other tests use. The expected messages name them, so the list is
	// fixed: a new platform or provider changes no message.
	platforms []sections.Section
)

// SetCatalog sets the platforms and providers of the tests.
func SetCatalog(all []sections.Section) {
	catalog = all
	named := []string{
		"discord", "telegram", "anthropic", "gemini", "responses", "http",
		"openrouter", "groq", "mistral", "deepseek", "xai", "azure", "ollama", "lmstudio", "vllm", "llamacpp",
	}
	for _, s := range all {
		if slices.Contains(named, s.Name) {
			platforms = append(platforms, s)
		}
	}
}

// A program without platforms has no ids and no sections of any, and says so.
func TestWithoutPlatforms(t *testing.T) {
	for yaml, want := range map[string]string{
		"connectors: {discord: {token: a.b.c}}": "1:14: connectors.discord: is not a known key; remove it",
		"access: {rooms: ['discord:1']}":        "1:18: access.rooms[0]: the value is not a group, a channel or a server; write the platform and the id in quotes",
	} {
		if _, err := Parse("", []byte(yaml), "", environment(nil)); err == nil || err.Error() != want {
			t.Errorf("%s: error %v; want %s", yaml, err, want)
		}
	}
	c, err := Parse("", []byte("connectors: {}\npeople: {owners: ['web:1']}"), "", environment(nil))
	if err != nil || len(c.ConnectorsOn()) > 0 {
		t.Errorf("%v is on; error %v", c.ConnectorsOn(), err)
	}
}

// Each configuration has values of its own.
func TestSectionsAreNotShared(t *testing.T) {
	one := parse(t, "connectors: {discord: {max_messages: 3}}", nil)
	two := parse(t, "", nil)
	if a, b := Section[discord.Config](one.Connectors), Section[discord.Config](two.Connectors); a.MaxMessages != 3 || b.MaxMessages != 10 {
		t.Errorf("max_messages are %d and %d", a.MaxMessages, b.MaxMessages)
	}
}

// Section returns the values of the platform with values of type T. It panics if there is none.
func Section[T any](all Connectors) *T {
	for _, s := range all {
		if values, ok := s.Values.(*T); ok {
			return values
		}
	}
	panic("config: no section has values of the type " + reflect.TypeFor[T]().String())
}
