package stories_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/config"
	"parley/connectors/connectortest"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/models/modelfake"
)

// signal rings when something was logged or answered: that is when it is worth looking again.
type signal chan struct{}

func (b signal) Write(p []byte) (int, error) { b.notify(); return len(p), nil }

func (b signal) notify() {
	select {
	case b <- struct{}{}:
	default: // it has rung
	}
}

func (b signal) after(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer b.notify()
		h.ServeHTTP(w, r)
	})
}

// sockets is one platform, one model and a gateway between them, with real sockets and a real clock. All end with the test.
type sockets struct {
	*gatewaytest.Harness
	connectortest.Platform
	site     platform
	place    connectortest.Room // the direct chat of Ada, who owns the gateway
	url      string
	model    *modelfake.Server
	provider *httptest.Server
	changed  signal
	gateway  *parley.Gateway
	process  *gatewaytest.Process
	db       string
}

// onSockets starts the platform and the model.
func onSockets(t *testing.T, p platform) *sockets {
	t.Helper()
	w := require.Value(p.newServer())(t)
	s := &sockets{Harness: gatewaytest.New(t), Platform: w, site: p, place: w.Direct(connectortest.Ada), model: modelfake.New(modelfake.Options{Key: secretKey}), changed: make(signal, 1)}
	t.Cleanup(w.Close)
	server := httptest.NewServer(s.changed.after(w.Handler()))
	t.Cleanup(server.Close)
	s.provider, s.url = httptest.NewServer(s.model), server.URL
	t.Cleanup(s.provider.Close)
	return s
}

// config returns the default configuration with the model.
func (s *sockets) config() config.Config {
	s.Helper()
	cfg := require.Value(parley.DefaultConfig(func(string) (string, bool) { return "", false }))(s)
	cfg.Providers.OpenAI.BaseURL, cfg.Providers.OpenAI.APIKey = s.provider.URL+"/v1", secretKey
	cfg.Models.Large.Model = modelfake.DefaultModel
	cfg.Turns.Buttons = false // most stories count the buttons of questions
	return cfg
}

// start starts the gateway, on the store of the one before, and waits until the platform is connected.
func (s *sockets) start(cfg config.Config) {
	s.Helper()
	if s.db == "" {
		s.db = filepath.Join(s.TempDir(), "parley.db")
		s.Cleanup(func() {
			s.stop()
			if bad := s.Refused(); len(bad) > 0 {
				s.Errorf("refused: %q", bad)
			}
		})
	}
	before := s.connections()
	cfg.Store, cfg.Web.Listen = config.DSN("sqlite:"+s.db), "127.0.0.1:0"
	cfg.People.Owners = []config.Account{config.Account(s.Account(connectortest.Ada))}
	s.site.enable(&cfg, s.Platform, s.url)
	g := require.Value(parley.New(cfg, parley.Env{Log: slog.New(slog.NewTextHandler(io.MultiWriter(s.Logged, s.changed), nil))}))(s)
	s.gateway, s.process = g, gatewaytest.Start(s.Context(), g.Run)
	s.waitUntil("the platform is connected", func() bool { return s.connections() > before })
}

// connections counts how often the platform was connected.
func (s *sockets) connections() (n int) {
	for line := range strings.Lines(s.Logged.String()) {
		if strings.Contains(line, "connected") && strings.Contains(line, "connector=") {
			n++
		}
	}
	return n
}

// stop stops the gateway.
func (s *sockets) stop() {
	s.Helper()
	if s.process == nil {
		return
	}
	if err := s.process.Stop(); err != nil {
		s.Error(err)
	}
	s.process = nil
}

// waitUntil waits until something is so.
func (s *sockets) waitUntil(what string, until func() bool) {
	s.Helper()
	over := time.After(3 * time.Minute)
	for !until() {
		select {
		case <-s.changed:
		case <-over:
			s.Fatalf("in vain: %s\n%q\nlog:\n%s", what, connectortest.BotTexts(s, s.place), s.Logged.String())
		}
	}
}

// waitShown waits until Ada has read part.
func (s *sockets) waitShown(part string) {
	s.Helper()
	s.waitUntil("Ada reads "+part, func() bool { return strings.Contains(strings.Join(connectortest.BotTexts(s, s.place), "\n"), part) })
}
