package stories_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/web/login"
	"parley/core/answer"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// carrying sends requests as the gateway's own page does, with a cookie.
type carrying struct {
	http.RoundTripper
	cookie *http.Cookie
}

// RoundTrip implements http.RoundTripper.
func (c carrying) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Origin", "http://"+webAt)
	if c.cookie != nil {
		r.AddCookie(c.cookie)
	}
	return c.RoundTripper.RoundTrip(r)
}

// SE-24, SE-07: with the web chat alone, a browser that has logged in is the owner's: it is offered what only the owner can use,
// approves a call that writes, also after a restart, and no visitor does.
func TestOwnerOnTheWebAlone(t *testing.T) {
	var called atomic.Int64
	withGateway(t, func(cfg *config.Config) {
		cfg.Web.Public, cfg.Turns.Approval = true, time.Hour
		cfg.Tools = []config.WebhookTool{{
			Name: "ORDER", Description: "Order something.", URL: "http://shop.test/", Method: "POST", Effect: "write", Who: config.ToolsOwner, Timeout: time.Minute,
			Parameters: `{"type":"object","properties":{"item":{"type":"string"}}}`,
		}}
	}, func(s *harness) {
		connectortest.Serve(s.T, s.listen("shop.test:80"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			called.Add(1)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"result":"ordered"}`))
		}))
		page := carrying{RoundTripper: s.browser.HTTP.Transport}
		code := require.Value(login.Sessions{Store: s.node.store}.NewCode(s.Context()))(s)
		body, _ := json.Marshal(map[string]string{"code": code})
		resp := require.Value((&http.Client{Transport: page}).Post("http://"+webAt+"/api/login", "application/json", strings.NewReader(string(body))))(s)
		s.Must(resp.Body.Close())
		page.cookie = resp.Cookies()[0]
		owner := &sim.Browser{HTTP: &http.Client{Transport: page}, Base: "http://" + webAt}
		s.shutdown()
		s.start() // the login outlives it

		order := modelfake.Script{modelfake.ToolCall("c", "ORDER", `{"item":"tea"}`)}
		s.model.Queue(modelfake.Script{modelfake.Text("I can't order.")})
		s.readAll(s.send(s.newConversation(), "1", "Order tea"))
		if got := string(s.model.Requests()[0].Raw); strings.Contains(got, `"ORDER"`) {
			s.Errorf("a visitor is offered the tool: %s", got)
		}
		s.model.Queue(order, modelfake.Script{modelfake.Text("It is ordered.")})
		id := require.Value(owner.Open(s.Context()))(s)
		s.secrets = append(s.secrets, id)
		st := require.Value(owner.Send(s.Context(), id, "1", "Order tea"))(s)
		var asked *answer.Choices
		for asked == nil {
			e := require.Value(st.Next())(s)
			asked = e.Choices
		}
		press := func(by *http.Client) int {
			body, _ := json.Marshal(map[string]any{"id": asked.ID, "option": 0})
			resp := require.Value(by.Post("http://"+webAt+"/api/conversations/"+id+"/choices/stream", "application/json", strings.NewReader(string(body))))(s)
			_, _ = io.Copy(io.Discard, resp.Body)
			s.Must(resp.Body.Close())
			return resp.StatusCode
		}
		if status := press(s.browser.HTTP); status != http.StatusNotFound || called.Load() != 0 {
			s.Errorf("a visitor who knows the conversation approves: %d", status)
		}
		if status := press(owner.HTTP); status != http.StatusOK {
			s.Errorf("the owner approves: %d; want %d", status, http.StatusOK)
		}
		s.readUntil(st, "It is ordered.")
		s.readAll(st)
		if called.Load() != 1 {
			s.Errorf("the tool was called %d times; want 1", called.Load())
		}
	})
}
