package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestHooks(t *testing.T) {
	c := parse(t, `
hooks:
  - {name: build, secret: "${env:BUILD_SECRET}", room: "telegram:-100", prompt: "A build ended as {{status}}."}
`, map[string]string{"BUILD_SECRET": "0123456789abcdef"})
	if len(c.Hooks) != 1 || c.Hooks[0].Secret != "0123456789abcdef" || c.Hooks[0].PerMinute != 30 || c.Hooks[0].Quiet == QuietDrop {
		t.Errorf("%+v", c.Hooks)
	}
	if strings.Contains(fmt.Sprintf("%+v", c), "0123456789abcdef") {
		t.Error("a secret is printed")
	}
	const rest = `, room: "telegram:-100", prompt: x`
	for yaml, want := range map[string]string{
		`{name: a, secret: tooshort` + rest + `}`:                        "is shorter than 16 characters",
		`{name: a, secret: "0123456789 abcdef"` + rest + `}`:             "does not look like a token or key",
		`{name: a/b, secret: 0123456789abcdef` + rest + `}`:              "hooks[0].name",
		`{name: a, secret: 0123456789abcdef, room: "telegram:-100"}`:     "has not exactly one of prompt and text",
		`{name: a, secret: 0123456789abcdef, text: x}`:                   "hooks[0].room",
		`{name: a, secret: 0123456789abcdef, per_minute: 0` + rest + `}`: "is not between 1 and 600",
	} {
		_, err := Parse("config.yaml", []byte("hooks: ["+yaml+"]"), t.TempDir(), environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}
