package config

import (
	"os"
	"parley/connectors/discord"
	"parley/internal/require"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	write("unix", "token\n")
	write("windows", "token\r\n")
	write("lines", "a\nb\n")
	write("reference", "${env:A}")
	write("empty", "\n")
	write("binary", "\xff\xfe")
	write("large", strings.Repeat("x", maxReferenced+1))
	r := resolver{dir: dir, getenv: environment(map[string]string{"A": "1", "B": "${env:A}: {x}", "EMPTY": ""})}

	tests := []struct{ name, text, want, first, wrong string }{
		{"plain", "text $A {} $", "text $A {} $", "", ""},
		{"whole", "${env:A}", "1", "${env:A}", ""},
		{"inside", "x${env:A}y${env:A}", "x1y1", "${env:A}", ""},
		{"default of an unset one", "${env:C:-d:-e}", "d:-e", "${env:C}", ""},
		{"default of an empty one", "${env:EMPTY:-d}", "d", "${env:EMPTY}", ""},
		{"empty default", "${env:C:-}", "", "${env:C}", ""},
		{"default not needed", "${env:A:-d}", "1", "${env:A}", ""},
		{"result is not looked through", "${env:B}", "${env:A}: {x}", "${env:B}", ""},
		{"escape", "$${env:A}", "${env:A}", "", ""},
		{"escape before a reference", "$${${env:A}", "${1", "${env:A}", ""},
		{"file", "${file:unix}", "token", "${file:unix}", ""},
		{"file with other line ends", "${file:windows}", "token", "${file:windows}", ""},
		{"file of lines", "${file:lines}", "a\nb", "${file:lines}", ""},
		{"file by its whole path", "${file:" + dir + "/unix}", "token", "${file:" + dir + "/unix}", ""},
		{"file is not looked through", "${file:reference}", "${env:A}", "${file:reference}", ""},
		{"unset", "${env:C}", "", "", "is not set"},
		{"set to nothing", "${env:EMPTY}", "", "", "is not set"},
		{"no name", "${env:}", "", "", "not a valid environment variable name"},
		{"unknown kind", "${vault:x}", "", "", "not a reference"},
		{"not closed", "${env:A", "", "", "no closing"},
		{"nested", "${env:C:-${env:A}}", "", "", "nested in another"},
		{"no such file", "${file:none}", "", "", "no such file"},
		{"folder", "${file:.}", "", "", "not a regular file"},
		{"empty file", "${file:empty}", "", "", "is empty"},
		{"binary file", "${file:binary}", "", "", "not text"},
		{"large file", "${file:large}", "", "", "larger than 64 KiB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, first, wrong := r.resolve(test.text)
			if test.wrong != "" {
				if wrong == nil || !strings.Contains(wrong.message, test.wrong) || wrong.hint == "" {
					t.Fatalf("fault %+v, want %q with a hint", wrong, test.wrong)
				}
				return
			}
			if wrong != nil || got != test.want || first != test.first {
				t.Errorf("got %q, first %q, fault %+v", got, first, wrong)
			}
		})
	}
}

func TestReferencesFillEveryType(t *testing.T) {
	c := parse(t, `
web: {public: "${env:YES}", listen: "0.0.0.0:${env:PORT}", origins: ["${env:ORIGIN}"], trusted_proxies: ["${env:NET}"], limits: {messages_per_minute: "${env:NUMBER}"}}
models: {large: {temperature: "${env:FLOAT}"}}
connectors: {discord: {shards: "${env:NONE:-auto}"}}
agent: {summaries: "${env:NO}"}
turns:
  idle: ${env:WAIT}
  direct: ${env:RULE}
people: {owners: ["${env:ME}"]}
`, map[string]string{
		"YES": "true", "NO": "false", "PORT": "80", "ORIGIN": "https://a.example", "NET": "10.0.0.0/8", "NUMBER": "7",
		"FLOAT": "0.5", "WAIT": "3s", "RULE": "queue", "ME": "discord:1",
	})
	if !c.Web.Public || c.Web.Listen != "0.0.0.0:80" || c.Web.Origins[0] != "https://a.example" ||
		c.Web.TrustedProxies[0].Bits() != 8 || c.Web.Limits.MessagesPerMinute != 7 {
		t.Errorf("web: %+v", c.Web)
	}
	if *c.Models.Large.Temperature != 0.5 || c.Agent.Summaries || Section[discord.Config](c.Connectors).Shards != nil ||
		c.Turns.Idle != 3*time.Second || c.Turns.Direct != "queue" || c.People.Owners[0] != "discord:1" {
		t.Errorf("others: %+v", c)
	}
}

// TestReferencesCannotAddKeys: what a variable holds is text, never YAML (SE-14).
func TestReferencesCannotAddKeys(t *testing.T) {
	const evil = "x\"\nweb: {public: true}\n#"
	c := parse(t, "agent:\n  name: ${env:EVIL}\n", map[string]string{"EVIL": evil})
	if c.Agent.Name != evil || c.Web.Public {
		t.Errorf("name %q, public %v", c.Agent.Name, c.Web.Public)
	}
}
