package main_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/backends/sqlite"
	"parley/internal/require"
)

// authorizes serves an MCP server that is its own authorization server.
func authorizes(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	answers := func(path string, v map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	answers("/.well-known/oauth-authorization-server", map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
		"code_challenge_methods_supported": []string{"S256"},
	})
	answers("/register", map[string]any{"client_id": "parley", "token_endpoint_auth_method": "none"})
	answers("/token", map[string]any{"access_token": "s3cr3t-access", "refresh_token": "s3cr3t-refresh", "token_type": "Bearer"})
	tools := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	tools.AddTool(&sdk.Tool{Name: "list", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools }, &sdk.StreamableHTTPOptions{Stateless: true})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cr3t-access" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=c&state="+q.Get("state"), http.StatusFound)
	})
	return s
}

// checkOfShop returns what gateway check says of the server, with the folder and the environment of another command.
func checkOfShop(t *testing.T, like *exec.Cmd) string {
	t.Helper()
	c := command(t, nil, "check")
	c.Dir, c.Env = like.Dir, like.Env
	out, _ := c.CombinedOutput() // it also ends with 1 because no one can talk to the agent
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "mcp.shop") && !strings.Contains(line, "s3cr3t") {
			return line
		}
	}
	t.Fatalf("the check says %s", out)
	return ""
}

// gateway mcp login shows an address. The login ends in a browser on this machine, or with a pasted address; the tokens are stored encrypted.
// gateway check uses them.
func TestLoginToMCPServer(t *testing.T) {
	for name, pastes := range map[string]bool{"in a browser": false, "pasted": true} {
		t.Run(name, func(t *testing.T) {
			c := command(t, nil, "mcp", "login", "shop")
			c.Env = append(c.Env, "PARLEY_SECRET_KEY="+base64.StdEncoding.EncodeToString(make([]byte, 32)))
			cfg := fmt.Sprintf("mcp: [{name: shop, url: %q, oauth: {enabled: true}}]\n", authorizes(t).URL+"/mcp")
			require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "config.yaml"), []byte(cfg), 0o600))
			if said := checkOfShop(t, c); !strings.Contains(said, "it needs a login: gateway mcp login shop") {
				t.Errorf("before the login: %s", said)
			}
			in := require.Value(c.StdinPipe())(t)
			out := require.Value(c.StdoutPipe())(t)
			require.NoError(t, c.Start())
			var shown strings.Builder
			for lines := bufio.NewScanner(out); lines.Scan(); {
				shown.WriteString(lines.Text() + "\n")
				address := strings.TrimSpace(lines.Text())
				if !strings.HasPrefix(address, "http://") {
					continue
				}
				client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
					if pastes {
						return http.ErrUseLastResponse
					}
					return nil
				}}
				res := require.Value(client.Get(address))(t)
				res.Body.Close()
				if pastes {
					fmt.Fprintln(in, res.Header.Get("Location"))
				}
			}
			if code := status(t, c.Wait()); code != 0 || !strings.Contains(shown.String(), "The gateway is logged in to shop.") || strings.Contains(shown.String(), "s3cr3t") {
				t.Fatalf("it ended with %d and wrote %s", code, shown.String())
			}
			if said := checkOfShop(t, c); !strings.Contains(said, "1 tools: list (write)") {
				t.Errorf("after the login: %s", said)
			}
			s := require.Value(sqlite.Open(t.Context(), filepath.Join(c.Dir, "parley.db"), sqlite.Options{}))(t)
			defer s.Close()
			if row, err := s.Kept(t.Context(), `plugin "mcp" login shop`); err != nil || !strings.Contains(row, "Sealed") || strings.Contains(row, "s3cr3t") {
				t.Errorf("stored is %q, %v", row, err)
			}
		})
	}
}

func TestLoginToUnknownMCPServer(t *testing.T) {
	out, err := command(t, nil, "mcp", "login", "shop").CombinedOutput()
	if code := status(t, err); code != 1 || !strings.Contains(string(out), `no server "shop" with oauth.enabled`) {
		t.Errorf("it ended with %d and wrote %s", code, out)
	}
}
