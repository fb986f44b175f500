package discord

import "testing"

func TestRoutes(t *testing.T) {
	for path, want := range map[string]route{
		"users/@me":                         {"GET /users/@me", ""},
		"channels/12/messages/34":           {"GET /channels/{id}/messages/{id}", "12"},
		"channels/12/messages?limit=1&a=34": {"GET /channels/{id}/messages", "12"},
	} {
		if got := routeOf("GET", path); got != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
}
