package parley

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/require"
)

// The configuration on the operator's page has no secret, wherever it is.
func TestSettingsHideSecrets(t *testing.T) {
	text := `
store: postgres://user:SECRET0aaaaaaaaaaaaaaa@db/parley
shared: redis://:SECRET1aaaaaaaaaaaaaaaaa@cache:6379
connectors:
  telegram: {token: "123456789:SECRET2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}
providers:
  openai: {api_key: SECRET3aaaaaaaaaaaaaaa, base_url: "https://models.example.org"}
models:
  chat:
    - {name: mine, provider: http, url: "http://127.0.0.1:9000/agent", api_key: SECRET5aaaaaaaaaaaaaa}
hooks:
  - {name: build, secret: SECRET6aaaaaaaaaaaaaaaaaaaa, room: "telegram:-1001234567890", prompt: A build ended.}
mcp:
  - {name: shop, url: "https://shop.example.org/mcp", headers: {Authorization: SECRET8aaaaaaaaaaaaaaaa}}
plugins:
  player: {urls: ["https://user:SECRET4@example.org/a.mp3"]}
admin:
  oidc: {issuer: "https://login.example.org", client_id: parley, client_secret: SECRET9aaaaaaaaaaaaa, owners: ops}
`
	cfg := require.Value(ParseConfig("config.yaml", []byte(text), t.TempDir(), func(string) (string, bool) { return "", false }))(t)
	shown := fmt.Sprint(cfg.Settings())
	if strings.Contains(shown, "SECRET") {
		t.Errorf("the settings have a secret: %s", shown)
	}
	for _, want := range []string{"db/parley", "{web.listen 127.0.0.1:8080}", "A build ended.", "shop.example.org/mcp", "{admin.oidc.client_secret ***}", "https://***@example.org/a.mp3", "{connectors.telegram.token ***}"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the settings lack %q: %s", want, shown)
		}
	}
}
