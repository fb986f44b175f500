package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/connectors/connectortest"
	"parley/core/action"
	"parley/core/action/actiontest"
	"parley/internal/require"
	"parley/plugins/mcp"
	"parley/plugins/mcp/oauth"
	"parley/sim"
)

// tools serves one tool.
func tools() http.Handler {
	server := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{}}`)
	server.AddTool(&sdk.Tool{Name: "list", InputSchema: schema}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "tea"}}}, nil
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
}

// The tools of a server with a login are there once a person has logged in. A token that is rejected is replaced within
// the call; when that is refused, the owner reads how to log in again, and calls say what is missing.
func TestPluginWithLogin(t *testing.T) {
	play(t, func(s *server) {
		host, m := &actiontest.Host{}, &connectortest.Memory{}
		p := mcp.New(mcp.Options{Key: key(s.T, "k"), Dial: s.net.Dial, Servers: []mcp.Server{{
			Name: "shop", URL: shopURL, OAuth: &shop, Read: []string{"list"}, Timeout: time.Minute,
		}}})
		require.NoError(t, host.Init(s.T, p))
		ctx, cancel := context.WithCancel(s.Context())
		var work sync.WaitGroup
		work.Go(func() { p.Work(ctx) })
		defer func() { cancel(); work.Wait() }()
		time.Sleep(time.Minute)
		err := p.Await(ctx, action.TurnContext{}, "shop__list", nil)
		if len(p.Live()) != 0 || err == nil || !strings.Contains(err.Error(), "before the owner logs in") {
			t.Errorf("without a login: %d tools, %v", len(p.Live()), err)
		}
		s.login(m)
		require.NoError(t, host.Keep(ctx, oauth.Name("shop"), m.Stored()[oauth.Name("shop")]))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(p.Live()) != 1 {
			t.Fatalf("after the login: %d tools; want 1", len(p.Live()))
		}
		list := p.Live()[0]
		s.change(func() { clear(s.access) })
		if r := actiontest.Make(s.T, list, actiontest.Call{}); r.Text != "tea" || r.Err != nil {
			t.Errorf(`after the token was rejected: %q, %v; want "tea"`, r.Text, r.Err)
		}
		s.change(func() { clear(s.access); s.live++ })
		if r := actiontest.Make(s.T, list, actiontest.Call{}); r.Err == nil {
			t.Errorf("after the login has ended: %q", r.Text)
		}
		said := host.Said()
		if len(said) != 1 || !strings.Contains(said[0].Text, "`gateway mcp login shop`") {
			t.Errorf("the owner reads %+v", said)
		}
	})
}

// A server that rejects fresh tokens is not hammered: it and its authorization server are asked less and less, calls say
// that a login is needed, and one line is logged. It is used again when it accepts tokens.
func TestPluginWithRejectedTokens(t *testing.T) {
	play(t, func(s *server) {
		host, m, log := &actiontest.Host{}, &connectortest.Memory{}, &sim.Log{}
		s.login(m)
		p := mcp.New(mcp.Options{Key: key(s.T, "k"), Dial: s.net.Dial, Log: slog.New(slog.NewTextHandler(log, nil)), Servers: []mcp.Server{{
			Name: "shop", URL: shopURL, OAuth: &shop, Read: []string{"list"}, Timeout: time.Minute,
		}}})
		require.NoError(t, host.Init(s.T, p))
		ctx, cancel := context.WithCancel(s.Context())
		require.NoError(t, host.Keep(ctx, oauth.Name("shop"), m.Stored()[oauth.Name("shop")]))
		s.change(func() { s.stubborn = true })
		var work sync.WaitGroup
		work.Go(func() { p.Work(ctx) })
		defer func() { cancel(); work.Wait() }()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := s.asked(); n < 20 || n > 60 {
			t.Errorf("the authorization server was asked %d times in a day; want at least 20 and at most 60", n)
		}
		if s.requests > 100 {
			t.Errorf("the server was asked %d times in a day; want at most 100", s.requests)
		}
		if n := strings.Count(log.String(), "level=WARN"); n > 3 {
			t.Errorf("%d warnings:\n%s", n, log)
		}
		err := p.Await(ctx, action.TurnContext{}, "shop__list", nil)
		if len(p.Live()) != 0 || err == nil || !strings.Contains(err.Error(), "before the owner logs in") {
			t.Errorf("%d tools, %v", len(p.Live()), err)
		}
		if said := host.Said(); len(said) != 1 {
			t.Errorf("the owner reads %+v; want 1", said)
		}
		s.change(func() { s.stubborn = false })
		time.Sleep(2 * time.Hour)
		if len(p.Live()) != 1 {
			t.Errorf("%d tools once it accepts them; want 1", len(p.Live()))
		}
	})
}

// The check uses the stored login, renews its token if needed, and lists the tools. Without a login it says how to log in,
// and nothing that it says holds a secret.
func TestCheckWithLogin(t *testing.T) {
	play(t, func(s *server) {
		m := &connectortest.Memory{}
		set := s.registered("client:1", secret, "client_secret_post")
		check := func() (string, error) {
			o := mcp.Options{Key: key(s.T, "k"), Dial: s.net.Dial}
			line, _, err := mcp.Check(s.Context(), mcp.Server{Name: "shop", URL: shopURL, OAuth: &set, Read: []string{"list"}}, o, m)
			return line, err
		}
		line, err := check()
		if !errors.Is(err, oauth.ErrLogin) || err.Error() != "it needs a login: gateway mcp login shop (at "+issuer+")" {
			t.Errorf("without a login: %q, %v", line, err)
		}
		s.loginOf(m, set)
		if line, err = check(); err != nil || line != "1 tools: list (read)" {
			t.Errorf(`with a login: %q, %v; want "1 tools: list (read)"`, line, err)
		}
		time.Sleep(2 * time.Hour)
		if line, err = check(); err != nil || line != "1 tools: list (read)" || s.asked() != 2 {
			t.Errorf(`after the end of the token: %q, %v, %d requests; want "1 tools: list (read)" and 2`, line, err, s.asked())
		}
		s.change(func() { clear(s.access) })
		if line, err = check(); err != nil || line != "1 tools: list (read)" {
			t.Errorf(`after the token was rejected: %q, %v; want "1 tools: list (read)"`, line, err)
		}
		s.change(func() { clear(s.access); s.live++ })
		if line, err = check(); !errors.Is(err, oauth.ErrLogin) || !strings.Contains(err.Error(), "gateway mcp login shop") {
			t.Errorf("after the login has ended: %q, %v", line, err)
		}
		m.Fail(errors.New("the store with " + secret + " is away"))
		if line, err = check(); err == nil || errors.Is(err, oauth.ErrLogin) || strings.Contains(err.Error(), secret) {
			t.Errorf("without a store: %q, %v", line, err)
		}
	})
}
