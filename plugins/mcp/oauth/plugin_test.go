package oauth_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/action"
	"parley/core/actiontest"
	"parley/plugins/mcp"
	"parley/plugins/mcp/oauth"
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

// The tools of a server with a login are there once a person has logged in. A token that is rejected is replaced within the call; when that
// is refused, the owner reads how to log in again, and calls say what is missing.
func TestPluginWithLogin(t *testing.T) {
	play(t, func(s *server) {
		host, m := &actiontest.Host{}, &memory{}
		p := mcp.New(mcp.Options{Key: key(s.T, "k"), Dial: s.net.Dial, Servers: []mcp.Server{{
			Name: "shop", URL: shopURL, OAuth: &shop, Read: []string{"list"}, Timeout: time.Minute,
		}}})
		if err := host.Init(s.T, p); err != nil {
			t.Fatal(err)
		}
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
		if err := host.Keep(ctx, oauth.Name("shop"), m.rows[oauth.Name("shop")]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(p.Live()) != 1 {
			t.Fatalf("after the login: %d tools", len(p.Live()))
		}
		list := p.Live()[0]
		s.change(func() { clear(s.access) })
		if r := actiontest.Make(s.T, list, actiontest.Call{}); r.Text != "tea" || r.Err != nil {
			t.Errorf("after the token was rejected: %q, %v", r.Text, r.Err)
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
