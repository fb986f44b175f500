package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"

	"parley/connectors/discord"
	"parley/internal/require"
)

// printings lists every way a value of the configuration may reach a reader.
func printings(t *testing.T, value any) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%e", "%U", "%10.5s", "%T"} {
		out[verb] = fmt.Sprintf(verb, value)
	}
	out["Sprint"] = fmt.Sprint(value)
	out["Errorf"] = fmt.Errorf("value: %v", value).Error()
	var lines bytes.Buffer
	slog.New(slog.NewTextHandler(&lines, nil)).Info("m", "value", value)
	slog.New(slog.NewJSONHandler(&lines, nil)).Info("m", "value", value, slog.Group("g", "value", value))
	out["slog"] = lines.String()
	asJSON := require.Value(json.Marshal(map[string]any{"value": value}))(t)
	asYAML := require.Value(yaml.Marshal(map[string]any{"value": value}))(t)
	out["JSON"], out["YAML"] = string(asJSON), string(asYAML)
	return out
}

// TestNothingPrintsASecret covers SE-02: the token, its halves and its hex form.
func TestNothingPrintsASecret(t *testing.T) {
	const secret = "hunter2.correct.horse"
	c := parse(t, "shared: redis://user:${env:S}@cache:6379/0\n", map[string]string{
		"S": secret, "DISCORD_TOKEN": secret, "OPENAI_API_KEY": secret, "TELEGRAM_TOKEN": "1:hunter2correcthorse",
	})
	token := Section[discord.Config](c.Connectors).Token
	values := map[string]any{
		"Secret": token, "pointer": &token, "DSN": c.Shared, "Config": c, "Off": c.Off(),
		"slice": []Secret{token}, "struct": struct{ T Secret }{token}, "map": map[string]DSN{"k": c.Shared},
	}
	for name, value := range values {
		for way, printed := range printings(t, value) {
			for _, part := range []string{"hunter2", "horse", fmt.Sprintf("%x", "hunter2"), fmt.Sprintf("%X", "hunter2")} {
				if strings.Contains(printed, part) {
					t.Errorf("%s by %s shows %s: %s", name, way, part, printed)
				}
			}
		}
	}
	if token.Reveal() != secret || !strings.Contains(c.Shared.Reveal(), secret) {
		t.Error("Reveal does not reveal")
	}
}

func TestSecretTellsWhetherItIsEmpty(t *testing.T) {
	for way, printed := range printings(t, Secret("x")) {
		if way == "%v" && printed != "***" || way == "JSON" && printed != `{"value":"***"}` || way == "YAML" && !strings.Contains(printed, "***") {
			t.Errorf("%s: %s", way, printed)
		}
	}
	if s := fmt.Sprintf("%v|%#v|%q", Secret(""), Secret(""), Secret("")); s != `|""|""` {
		t.Errorf("empty: %s", s)
	}
}

func TestDSNKeepsItsHost(t *testing.T) {
	tests := map[DSN]string{
		"":                                      "",
		"inmem:":                                "inmem:",
		"sqlite:parley.db":                      "sqlite:parley.db",
		"sqlite:parley.db?_key=hunter2":         "sqlite:parley.db?***",
		"redis://cache:6379/1":                  "redis://cache:6379/1",
		"redis://user:hunter2@cache:6379/1":     "redis://***@cache:6379/1",
		"rediss://:hunter2@cache":               "rediss://***@cache",
		"redis+cluster://u:hunter2@a?addr=b":    "redis+cluster://***@a?***",
		"redis://:1/hunter2@cache":              "redis://***@cache",
		"redis://:p#hunter2@cache":              "redis://***@cache",
		"redis://:p?hunter2@cache":              "redis://***@cache",
		"redis://:p@hunter2@cache":              "redis://***@cache",
		"redis://cache/0?password=hunter2":      "redis://cache/0?***",
		"redis:hunter2@cache":                   "redis:***@cache",
		"hunter2":                               "***",
		"hunter2://cache":                       "***",
		"mysql://user:hunter2@db/parley?":       "***",
		"postgres://user:hunter2@db/parley":     "postgres://***@db/parley",
		"postgres://db/parley?password=hunter2": "postgres://db/parley?***",
	}
	for dsn, want := range tests {
		if got := dsn.String(); got != want {
			t.Errorf("%q prints as %q, want %q", string(dsn), got, want)
		}
	}
}

// A password that the driver would read as something else is refused with a hint, and no part of it is shown: neither by
// the error, nor by the driver that would name it as a host. Any other address is accepted as it is.
func TestPasswordsInAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"postgres://u:pa@secret@db/x":                    false,
		"postgres://u:pa/secret@db/x":                    false,
		"postgres://u:pa%secret@db/x":                    false,
		"postgres://u:pa secret@db/x":                    false,
		"postgres://u:p@a?secret@db/x":                   false,
		"postgres://u:p@a/secret@db/x":                   false,
		"redis://u:pa#secret@db/0":                       false,
		"redis://u:pa/secret@db/0":                       false,
		"rediss://u:pa?secret@db/0":                      false,
		"redis+sentinel://u:p@a#secret@db/main":          false,
		"postgres://u:pa%40ss@db/x":                      true,
		"postgres://u:pa#ss@db/x":                        true,
		"postgres://u:pa?ss@db/x":                        true,
		"postgres://u:p@db/x?application_name=a@b":       true,
		"postgres://u:p@db,other:5433/x?sslmode=disable": true,
		"postgres:///x?host=/run/postgresql":             true,
		"redis://u:pa@ss@db/0":                           true,
		"redis://db:6379/0":                              true,
	} {
		key := "store"
		if strings.HasPrefix(address, "redis") {
			key = "shared"
		}
		_, err := Parse("config.yaml", []byte(key+": \""+address+"\"\n"), t.TempDir(), environment(nil), platforms...)
		if ok != (err == nil) {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if err != nil && (!strings.Contains(err.Error(), "%40") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v", address, err)
		}
		host := ""
		switch {
		case ok && key == "store":
			c, err := pgxpool.ParseConfig(address)
			if err != nil {
				t.Errorf("%s: %v", address, err)
			} else if err == nil {
				host = c.ConnConfig.Host
			}
		case ok:
			o, err := goredis.ParseURL(address)
			if err != nil {
				t.Errorf("%s: %v", address, err)
			} else {
				host = o.Addr
			}
		}
		if strings.Contains(host, "@") {
			t.Errorf("%s: the host is %s", address, host)
		}
	}
}
