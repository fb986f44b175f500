//go:build unix

package stories_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/backends/postgres/postgrestest"
	"parley/backends/redis/redistest"
	"parley/config"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// DI-02, DI-03: servers that hang, with all connections open, are seen at /readyz and once in the log. While Redis hangs, messages are
// accepted and answered; while PostgreSQL hangs, they are refused. Both are used again without a restart.
func TestServersHang(t *testing.T) {
	database, shared := postgrestest.Start(t), redistest.Start(t)
	cfg := postgresConfig(t, database.Create(t, ""), modelfake.New(modelfake.Options{}))
	cfg.Shared = config.DSN(shared.URL())
	h := gatewaytest.New(t)
	g, end := startGateway(t, cfg, parley.Env{Log: h.Logger(slog.LevelInfo)})
	defer end()
	base := "http://" + g.Addr().String()
	b := &sim.Browser{HTTP: http.DefaultClient, Base: base}
	conversation := require.Value(b.Open(t.Context()))(t)
	answered := func(text string) {
		t.Helper()
		s, err := b.Send(t.Context(), conversation, text, text)
		if err != nil || s.Status != http.StatusOK {
			t.Fatalf("%+v, %v", s, err)
		}
		if _, err := s.All(); err != nil || s.Text() != "You said: "+text {
			t.Errorf("answered with %q, %v", s.Text(), err)
		}
	}
	wantsProbe(t, base, http.StatusOK, "ready\n")

	shared.Pause()
	wantsProbe(t, base, http.StatusOK, "ready, with limits: Redis can't be reached")
	answered("without-redis")
	answered("still-without-redis")
	shared.Resume()
	wantsProbe(t, base, http.StatusOK, "ready\n")

	database.Pause(t)
	paused := true
	defer func() {
		if paused {
			database.Continue(t)
		}
	}()
	wantsProbe(t, base, http.StatusServiceUnavailable, "the database does not answer")
	if s, err := b.Send(t.Context(), conversation, "refused", "refused"); err == nil && s.Status == http.StatusOK {
		t.Error("a message was accepted while the database hangs")
	}
	database.Continue(t)
	paused = false
	wantsProbe(t, base, http.StatusOK, "ready\n")
	answered("with-both")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(h.Logged.String(), "the store answers again") && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond) // until the next heartbeat
	}
	for _, once := range []string{"can't announce a turn", "redis: unreachable", "redis: connected again", "can't renew the process lease", "the store answers again"} {
		if n := strings.Count(h.Logged.String(), once); n != 1 {
			t.Errorf("the log says %q %d times; want 1", once, n)
		}
	}
	if n := strings.Count(h.Logged.String(), "can't follow answers"); n > 1 { // or not at all, if both answers were over before that was known
		t.Errorf("the log says %d times that answers can't be followed", n)
	}
}
