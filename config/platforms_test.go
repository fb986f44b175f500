package config

import (
	"reflect"
	"slices"
	"testing"

	"parley/connectors/discord"
	"parley/internal/sections"
)

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
