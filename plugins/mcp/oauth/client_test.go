package oauth_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/plugins/mcp/oauth"
)

const secret = "s3cr3t/of+the:client"

// A client that was registered by hand logs in and renews tokens, with and without a secret, in the way that the server
// takes it.
func TestRegisteredClient(t *testing.T) {
	for name, c := range map[string]struct {
		secret  string
		methods []string
	}{
		"without a secret":     {"", []string{"none"}},
		"basic":                {secret, []string{"client_secret_basic"}},
		"basic is the default": {secret, nil},
		"post":                 {secret, []string{"client_secret_post"}},
		"another and basic":    {secret, []string{"private_key_jwt", "client_secret_basic"}},
	} {
		t.Run(name, subtest.Of(play, func(s *server) {
			m, set := &connectortest.Memory{}, s.registered("client:1", c.secret, c.methods...)
			s.loginOf(m, set)
			g := s.gatewayOf(m, set)
			first := require.Value(g.Token(s.Context(), ""))(s)
			second, err := g.Token(s.Context(), first)
			if err != nil || second == first || s.asked() != 2 {
				s.Errorf("renewed: %q, %v, %d requests", second, err, s.asked())
			}
			if known := g.Secrets(); !slices.Contains(known, first) || !slices.Contains(known, second) || c.secret != "" && !slices.Contains(known, c.secret) {
				s.Errorf("what errors hide is %q", known)
			}
			if row := m.Stored()[oauth.Name("shop")]; strings.Contains(row, "s3cr3t") || strings.Contains(row, "client:1") {
				s.Errorf(`stored is %s; want it without "s3cr3t" and it without "client:1"`, row)
			}
		}))
	}
}

// A wrong secret, a missing one and an unknown client lead to a sentence that says what to look at, without the secret.
func TestWrongSecret(t *testing.T) {
	for name, edit := range map[string]func(*oauth.Settings){
		"another secret": func(set *oauth.Settings) { set.ClientSecret = "wr0ng-secret" },
		"no secret":      func(set *oauth.Settings) { set.ClientSecret = "" },
	} {
		for _, method := range []string{"client_secret_basic", "client_secret_post"} {
			t.Run(name+", "+method, subtest.Of(play, func(s *server) {
				set := s.registered("client:1", secret, method)
				edit(&set)
				value, err := oauth.Login(s.Context(), set, key(s.T, "k"), oauth.NewClient(s.net.Dial), landing, s.visit)
				if value != "" || err == nil || !strings.Contains(err.Error(), "check oauth.client_id and oauth.client_secret") || strings.Contains(err.Error(), "wr0ng") {
					s.Errorf("%q, %v", value, err)
				}
			}))
		}
	}
}

// A secret that was replaced at the server is taken from the configuration. Until then renewals are refused: the owner
// reads why in the log, without the secret.
func TestReplacedSecret(t *testing.T) {
	play(t, func(s *server) {
		m, set := &connectortest.Memory{}, s.registered("client:1", secret, "client_secret_basic")
		s.loginOf(m, set)
		first, _ := s.gatewayOf(m, set).Token(s.Context(), "")
		next := s.registered("client:1", "the-n3xt-secret", "client_secret_basic")
		second, err := s.gatewayOf(m, next).Token(s.Context(), first)
		if err != nil {
			t.Fatalf("with the new secret: %v", err)
		}
		g := s.gatewayOf(m, set)
		if _, err := g.Token(s.Context(), second); !errors.Is(err, oauth.ErrLogin) {
			t.Errorf("with the old secret: %v", err)
		}
		if log := g.log.String(); !strings.Contains(log, "check oauth.client_id and oauth.client_secret") || strings.Contains(log, "s3cr3t") || len(g.ended) != 1 {
			t.Errorf("%s; the owner was told %q", log, g.ended)
		}
	})
}

// Fresh tokens that the MCP server rejects hold it back, longer each time, for all gateways and over restarts, until it
// accepts one again or a person logs in.
func TestRejectedTokens(t *testing.T) {
	play(t, func(s *server) {
		m := &connectortest.Memory{}
		s.lasts = 24 * time.Hour
		s.login(m)
		g, other := s.gateway(m), s.gateway(m)
		var waits []time.Duration
		for range 9 {
			token, err := g.Token(s.Context(), "")
			require.NoError(t, err)
			if token, err = g.Token(s.Context(), token); err != nil {
				t.Fatal(err)
			}
			if err := g.Reject(s.Context(), token); !errors.Is(err, oauth.ErrLogin) {
				t.Errorf("rejected: %v", err)
			}
			begun, asked := time.Now(), s.asked()
			for _, err = other.Token(s.Context(), ""); errors.Is(err, oauth.ErrLogin); _, err = other.Token(s.Context(), "") {
				time.Sleep(15 * time.Second)
			}
			if err != nil || s.asked() != asked {
				t.Errorf("after the pause: %v, %d requests", err, s.asked()-asked)
			}
			waits = append(waits, time.Since(begun).Round(time.Minute))
		}
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			if waits[i] != want*time.Minute {
				t.Errorf("the pauses are %v", waits)
				break
			}
		}
		if n := strings.Count(g.log.String(), "\n"); n != 1 || len(g.ended) != 1 {
			t.Errorf("%d lines, and the owner was told %q:\n%s", n, g.ended, g.log.String())
		}
		token, _ := g.Token(s.Context(), "")
		g.Accept(s.Context(), token)
		token, _ = g.Token(s.Context(), token)
		_ = g.Reject(s.Context(), token)
		time.Sleep(time.Minute)
		if _, err := g.Token(s.Context(), ""); err != nil {
			t.Errorf("the first pause after a success: %v", err)
		}
		token, _ = g.Token(s.Context(), token)
		_ = g.Reject(s.Context(), token)
		s.login(m)
		if _, err := other.Token(s.Context(), ""); err != nil {
			t.Errorf("after another login: %v", err)
		}
	})
}
