package config

import (
	"reflect"
	"testing"

	"parley/connectors/discord"
	"parley/internal/sections"
)

// platforms are those of the catalog, and its providers, which only tests outside of the package can import: they set them.
var platforms []sections.Section

// SetPlatforms sets the platforms and providers that tests read the sections of.
func SetPlatforms(all []sections.Section) { platforms = all }

// A program without platforms has no ids and no sections of any, and says so.
func TestWithoutPlatforms(t *testing.T) {
	for yaml, want := range map[string]string{
		"connectors: {discord: {token: a.b.c}}": "1:14: connectors.discord: is not a known key; remove it",
		"access: {rooms: ['discord:1']}":        "1:18: access.rooms[0]: the value is not a group or channel; write the platform and the id in quotes",
	} {
		if _, err := Parse("", []byte(yaml), "", environment(nil)); err == nil || err.Error() != want {
			t.Errorf("%s: error %v; want %s", yaml, err, want)
		}
	}
	c, err := Parse("", []byte("connectors: {}\nowner: ['web:1']"), "", environment(nil))
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
