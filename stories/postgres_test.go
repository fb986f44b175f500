package stories_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/backends"
	"parley/backends/postgres/postgrestest"
	"parley/config"
	"parley/core/chat"
	"parley/core/storage"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// postgresConfig is a gateway with a model server, on real sockets and a real clock.
func postgresConfig(t *testing.T, url string, model http.Handler) config.Config {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	provider := httptest.NewServer(model)
	t.Cleanup(provider.Close)
	cfg := require.Value(parley.DefaultConfig(func(string) (string, bool) { return "", false }))(t)
	cfg.Web.Listen, cfg.Store, cfg.Shutdown = "127.0.0.1:0", config.DSN(url), 0
	cfg.Providers.OpenAI.BaseURL, cfg.Models.Large.Model = provider.URL+"/v1", modelfake.DefaultModel
	return cfg
}

// startGateway runs a gateway, and returns it with a function that ends it. Its log is shown if the test fails.
func startGateway(t *testing.T, cfg config.Config, env parley.Env) (*parley.Gateway, func()) {
	t.Helper()
	if env.Log == nil {
		env.Log = gatewaytest.New(t).Logger(slog.LevelInfo)
	}
	g := require.Value(parley.Start(t.Context(), cfg, env))(t)
	p := gatewaytest.Start(context.Background(), g.Run)
	return g, func() { _ = p.Stop() }
}

// newKillableStore returns a store whose gateway can die.
func newKillableStore(t *testing.T, s storage.Store) *recordingStore {
	return newRecordingStore(&harness{accepted: map[chat.MemoryID]chat.RoomID{}, answers: map[chat.MemoryID]chat.RunID{}}, s)
}

// The first gateway dies while it answers, without another word to the database. The next one adopts the question at once, and
// answers it once.
func TestAnsweredOnceOnPostgres(t *testing.T) {
	server := postgrestest.Start(t)
	asked := make(chan struct{}, 1)
	answers := false
	model := modelfake.New(modelfake.Options{Choose: func(r modelfake.Request) modelfake.Script {
		if answers {
			return modelfake.Echo(r)
		}
		asked <- struct{}{}
		return modelfake.Script{modelfake.Open(), modelfake.Stall()}
	}})
	cfg := postgresConfig(t, server.Create(t, ""), model)
	var first *recordingStore
	g, end := startGateway(t, cfg, parley.Env{Wrap: func(s storage.Store) storage.Store {
		first = newKillableStore(t, s)
		return first
	}})
	if _, err := parley.New(cfg, parley.Env{}); !errors.Is(err, parley.ErrRunning) || !strings.Contains(err.Error(), "shared") {
		t.Errorf("a second gateway with a memory of its own: %v", err)
	}
	b := &sim.Browser{HTTP: http.DefaultClient, Base: "http://" + g.Addr().String()}
	conversation := require.Value(b.Open(t.Context()))(t)
	go func() { _, _ = b.Send(t.Context(), conversation, "key", "hello") }()
	<-asked
	first.Kill()
	server.Kill() // the database dies with it
	end()
	server.Restart(t)
	answers = true
	g, end = startGateway(t, cfg, parley.Env{})
	defer end()
	b.Base = "http://" + g.Addr().String()
	s, err := b.Send(t.Context(), conversation, "key", "hello") // a retry of the same message
	require.NoError(t, err)
	if _, err := s.All(); err != nil || s.Text() != "You said: hello" {
		t.Errorf(`answered with %q, %v; want "You said: hello"`, s.Text(), err)
	}
	store := require.Value(backends.Open(t.Context(), cfg.Store.Reveal(), backends.Options{Guest: true}))(t)
	defer store.Close()
	rooms, err := store.OpenRooms(t.Context())
	if err != nil || len(rooms) != 0 {
		t.Errorf("there are open rooms: %v, %v; want none", rooms, err)
	}
}

// probe reads /readyz.
func probe(t *testing.T, base string) (code int, text string) {
	t.Helper()
	resp := require.Value(http.Get(base + "/readyz"))(t)
	defer resp.Body.Close()
	body := require.Value(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(body)
}

// wantsProbe waits until /readyz says so, for at most a minute.
func wantsProbe(t *testing.T, base string, code int, text string) {
	t.Helper()
	got, said := probe(t, base)
	for deadline := time.Now().Add(time.Minute); got != code || !strings.Contains(said, text); got, said = probe(t, base) {
		if time.Now().After(deadline) {
			t.Fatalf("/readyz says %d %q; want %d %q", got, said, code, text)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// DI-02: while the database is away the gateway is not ready and says why; when it is back, messages are answered without a restart.
// A gateway that starts meanwhile waits.
func TestPostgresAway(t *testing.T) {
	server := postgrestest.Start(t)
	cfg := postgresConfig(t, server.Create(t, ""), modelfake.New(modelfake.Options{}))
	g, end := startGateway(t, cfg, parley.Env{})
	base := "http://" + g.Addr().String()
	wantsProbe(t, base, http.StatusOK, "")
	server.Kill()
	wantsProbe(t, base, http.StatusServiceUnavailable, "the database can't be reached")
	server.Restart(t)
	wantsProbe(t, base, http.StatusOK, "")
	b := &sim.Browser{HTTP: http.DefaultClient, Base: base}
	conversation := require.Value(b.Open(t.Context()))(t)
	s := require.Value(b.Send(t.Context(), conversation, "key", "hello"))(t)
	if _, err := s.All(); err != nil || s.Text() != "You said: hello" {
		t.Errorf(`answered with %q, %v; want "You said: hello"`, s.Text(), err)
	}
	end()
	server.Kill()
	began := make(chan func())
	go func() {
		_, end := startGateway(t, cfg, parley.Env{})
		began <- end
	}()
	server.Restart(t)
	(<-began)()
}

// DI-14: the log says so if the server can lose what was accepted, as those of tests can.
func TestUnsafePostgresIsLogged(t *testing.T) {
	cfg := postgresConfig(t, postgrestest.Shared(t).Create(t, ""), http.NotFoundHandler())
	log := &sim.Log{}
	g := require.Value(parley.Start(t.Context(), cfg, parley.Env{Log: slog.New(slog.NewTextHandler(log, nil))}))(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_ = g.Run(ctx)
	if !strings.Contains(log.String(), "fsync and full_page_writes are off") {
		t.Errorf("the log is\n%s", log)
	}
}
