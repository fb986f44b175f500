package oauth_test

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/plugins/mcp/oauth"
	"parley/sim"
)

func key(t *testing.T, fill string) oauth.Key {
	k := require.Value(oauth.ParseKey(base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fill, 32)))))(t)
	return k
}

var shop = oauth.Settings{Server: "shop", URL: shopURL}

// gateway is one gateway.
type gateway struct {
	*oauth.Tokens
	log   sim.Log
	ended []string
}

func (s *server) gateway(m *connectortest.Memory) *gateway { return s.gatewayOf(m, shop) }

func (s *server) gatewayOf(m *connectortest.Memory, set oauth.Settings) *gateway {
	g := &gateway{}
	g.Tokens = oauth.NewTokens(set, key(s.T, "k"), oauth.NewClient(s.net.Dial), slog.New(slog.NewTextHandler(&g.log, nil)))
	g.Store = m
	g.Refused = func(_ context.Context, which string) { g.ended = append(g.ended, which) }
	return g
}

// login logs in, and stores what comes of it.
func (s *server) login(m *connectortest.Memory) {
	s.Helper()
	s.loginOf(m, shop)
}

func (s *server) loginOf(m *connectortest.Memory, set oauth.Settings) {
	s.Helper()
	value := require.Value(oauth.Login(s.Context(), set, key(s.T, "k"), oauth.NewClient(s.net.Dial), landing, s.visit))(s)
	require.NoError(s, m.Keep(s.Context(), oauth.Name("shop"), value))
}

func play(t *testing.T, f func(s *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newServer(t)) })
}

// A person logs in once. The tokens are stored encrypted, for this server only, and are renewed before they end and
// when they are rejected.
func TestLogin(t *testing.T) {
	play(t, func(s *server) {
		m := &connectortest.Memory{}
		g := s.gateway(m)
		if _, err := g.Token(s.Context(), ""); !errors.Is(err, oauth.ErrLogin) || !strings.Contains(err.Error(), "gateway mcp login shop") {
			t.Errorf("before the login: %v", err)
		}
		s.login(m)
		first, err := g.Token(s.Context(), "")
		if err != nil || s.access[first] != shopURL {
			t.Fatalf("%q, %v", first, err)
		}
		row := m.Stored()[oauth.Name("shop")]
		if strings.Contains(row, first) || strings.Contains(row, "refresh-") || strings.Contains(row, "client-") {
			t.Errorf("stored is %s", row)
		}
		time.Sleep(59*time.Minute + 31*time.Second)
		second, err := g.Token(s.Context(), "")
		if err != nil || second == first {
			t.Errorf("before its end: %q, %v", second, err)
		}
		third, err := g.Token(s.Context(), second)
		if err != nil || third == second || s.asked() != 3 {
			t.Errorf("after it was rejected: %q, %v, %d requests", third, err, s.asked())
		}
		other := s.gateway(m)
		other.URL = "http://127.0.0.1:99/mcp"
		if got, err := other.Token(s.Context(), ""); !errors.Is(err, oauth.ErrLogin) {
			t.Errorf("for another server: %q, %v", got, err)
		}
		other = s.gateway(m)
		other.Key = key(t, "x")
		if got, err := other.Token(s.Context(), ""); !errors.Is(err, oauth.ErrLogin) {
			t.Errorf("with another key: %q, %v", got, err)
		}
	})
}

// Several gateways and goroutines renew a token once: a refresh token that is used twice ends the login.
func TestRenewedOnce(t *testing.T) {
	play(t, func(s *server) {
		m := &connectortest.Memory{}
		s.login(m)
		first := require.Value(s.gateway(m).Token(s.Context(), ""))(t)
		gateways := []*gateway{s.gateway(m), s.gateway(m), s.gateway(m)}
		results := make(chan string, 30)
		for n := range cap(results) {
			go func() {
				token, err := gateways[n%len(gateways)].Token(s.Context(), first)
				if err != nil {
					t.Error(err)
				}
				results <- token
			}()
		}
		second := <-results
		for range cap(results) - 1 {
			if token := <-results; token != second || token == first {
				t.Errorf("another one: %q, %q", token, second)
			}
		}
		if s.asked() != 2 {
			t.Errorf("%d requests for tokens; want 2", s.asked())
		}
	})
}

// A refused renewal ends the login: the owner is told once, nothing is asked any more, and a new login helps. Nothing
// secret is logged.
func TestRefusedRenewal(t *testing.T) {
	play(t, func(s *server) {
		m := &connectortest.Memory{}
		s.login(m)
		g, other := s.gateway(m), s.gateway(m)
		first, _ := g.Token(s.Context(), "")
		s.change(func() { s.live++ }) // it was revoked
		for range 3 {
			for _, g := range []*gateway{g, other} {
				if _, err := g.Token(s.Context(), first); !errors.Is(err, oauth.ErrLogin) || strings.Contains(err.Error(), "refresh-") {
					t.Errorf("%v", err)
				}
			}
		}
		if len(g.ended) != 1 || len(other.ended) != 0 || s.asked() != 2 {
			t.Errorf("told %q and %q after %d requests", g.ended, other.ended, s.asked())
		}
		if log := g.log.String(); !strings.Contains(log, "invalid_grant") || strings.Contains(log, "refresh-") || strings.Contains(log, first) {
			t.Error(log)
		}
		s.login(m)
		if _, err := other.Token(s.Context(), first); err != nil {
			t.Errorf("after another login: %v", err)
		}
	})
}

// An authorization server that is down ends nothing. Neither does a gateway that dies while it renews a token.
func TestRenewalFails(t *testing.T) {
	play(t, func(s *server) {
		m := &connectortest.Memory{}
		s.login(m)
		g := s.gateway(m)
		first, _ := g.Token(s.Context(), "")
		s.change(func() { s.broken = 1 })
		if _, err := g.Token(s.Context(), first); err == nil || errors.Is(err, oauth.ErrLogin) {
			t.Errorf("while it is down: %v", err)
		}
		m.Fail(errors.New("the disk is full"))
		if _, err := g.Token(s.Context(), first); err == nil || errors.Is(err, oauth.ErrLogin) {
			t.Errorf("without a store: %v", err)
		}
		m.Fail(nil)
		row := m.Stored()[oauth.Name("shop")]
		require.NoError(t, m.Keep(t.Context(), oauth.Name("shop"), strings.Replace(row, `"Sealed"`, `"Holder":"dead","Until":"`+time.Now().Add(20*time.Second).Format(time.RFC3339)+`","Sealed"`, 1)))
		start := time.Now()
		second, err := g.Token(s.Context(), first)
		if took := time.Since(start); err != nil || second == first || took < 19*time.Second || took > 21*time.Second {
			t.Errorf("after the death of a gateway: %q, %v, after %v", second, err, took)
		}
	})
}

// What does not belong to the login, comes too late or twice, or is not protected, leads to no token.
func TestLoginIsRefused(t *testing.T) {
	replaced := func(old, new string) func(*server, context.Context, string) (string, error) {
		return func(s *server, ctx context.Context, address string) (string, error) {
			landed, err := s.visit(ctx, address)
			return strings.Replace(landed, old, new, 1), err
		}
	}
	for name, c := range map[string]struct {
		prepare func(s *server)
		visit   func(s *server, ctx context.Context, address string) (string, error)
		set     oauth.Settings
		says    string
	}{
		"another state":        {nil, replaced("state=", "state=x"), shop, "does not belong to this login"},
		"another issuer":       {nil, replaced("iss=http", "iss=https"), shop, "another authorization server"},
		"no issuer":            {nil, replaced("iss=", "is="), shop, "another authorization server"},
		"no code":              {nil, replaced("code=", "cod="), shop, "no code"},
		"denied":               {nil, replaced("code=", "error=access_denied&c="), shop, "access_denied"},
		"an error with a text": {nil, replaced("code=", "error=%3Cb%3E&c="), shop, "an unknown error"},
		"a code used before": {nil, func(s *server, ctx context.Context, address string) (string, error) {
			landed, err := s.visit(ctx, address)
			s.change(func() { clear(s.codes) })
			return landed, err
		}, shop, "invalid_grant"},
		"too late for the code": {nil, func(s *server, ctx context.Context, address string) (string, error) {
			landed, err := s.visit(ctx, address)
			time.Sleep(2 * time.Minute)
			return landed, err
		}, shop, "invalid_grant"},
		"too late for the login": {nil, func(_ *server, ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}, shop, "taken too long"},
		"without S256":                  {func(s *server) { s.noPKCE = true }, nil, shop, "no PKCE"},
		"the issuer is not the pinned":  {nil, nil, oauth.Settings{Server: "shop", URL: shopURL, Issuer: "https://else.example.org"}, "does not name oauth.issuer"},
		"the token endpoint is moved":   {func(s *server) { s.elsewhen["/token"] = "http://127.0.0.1:84/token" }, nil, shop, "redirects to another server"},
		"the registration is elsewhere": {func(s *server) { s.elsewhen["/register"] = "http://127.0.0.1:84/register" }, nil, shop, "redirects to another server"},
		"not encrypted":                 {nil, nil, oauth.Settings{Server: "shop", URL: "http://shop.example.org/mcp"}, "not an https address"},
	} {
		t.Run(name, subtest.Of(play, func(s *server) {
			if c.prepare != nil {
				c.prepare(s)
			}
			visit := s.visit
			if c.visit != nil {
				visit = func(ctx context.Context, address string) (string, error) { return c.visit(s, ctx, address) }
			}
			value, err := oauth.Login(s.Context(), c.set, key(s.T, "k"), oauth.NewClient(s.net.Dial), landing, visit)
			if value != "" || err == nil || !strings.Contains(err.Error(), c.says) {
				s.Errorf("%q, %v", value, err)
			}
		}))
	}
}

func TestParseKey(t *testing.T) {
	for _, bad := range []string{"", "short", base64.StdEncoding.EncodeToString(make([]byte, 16)), strings.Repeat("k", 32)} {
		if _, err := oauth.ParseKey(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
