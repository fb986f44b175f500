package discord

import (
	"net/http"
	"testing"
	"time"
)

func TestRoutes(t *testing.T) {
	for path, want := range map[string]route{
		"users/@me":                         {"GET /users/@me", ""},
		"channels/12/messages/34":           {"GET /channels/{id}/messages/{id}", "12"},
		"channels/12/messages?limit=1&a=34": {"GET /channels/{id}/messages", "12"},
	} {
		if got := routeOf("GET", path); got != want {
			t.Errorf("%s: %+v; want %+v", path, got, want)
		}
	}
}

// DR-01: a reply tells what is left only with both of its numbers.
func TestRepliesThatTellNoLimit(t *testing.T) {
	for name, c := range map[string]struct {
		left, after string
		held        bool
	}{
		"nothing left":   {"0", "5", true},
		"one left":       {"1", "5", false},
		"no number left": {"", "5", false},
		"no integer":     {"few", "5", false},
		"no time":        {"0", "", false},
		"no time to go":  {"0", "0", false},
		"time gone by":   {"0", "-1", false},
		"neither":        {"", "", false},
	} {
		l, r, now := newLimits(), routeOf("POST", "channels/12/messages"), time.Now()
		h := http.Header{}
		for name, value := range map[string]string{"X-RateLimit-Remaining": c.left, "X-RateLimit-Reset-After": c.after} {
			if value != "" {
				h.Set(name, value)
			}
		}
		l.learn(r, h, now)
		if err := l.enter(r, now); (err != nil) != c.held {
			t.Errorf("%s: the next request gets %v", name, err)
		}
	}
}
