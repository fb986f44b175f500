package bench

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"parley"
	"parley/config"
	"parley/internal/require"
	"parley/models/modelfake"
)

// gateway runs a whole gateway in this process: real sockets, a store at path (a new one if it is empty), and a model
// server whose answers choose selects. It returns a client.
func gateway(
	b *testing.B, path string, choose func(modelfake.Request) modelfake.Script, settings ...func(*config.Config),
) visitor {
	b.Helper()
	return gatewayIn(b, parley.Env{}, path, model(b, choose)+"/v1", settings...)
}

// gatewayIn is gateway with an environment, and with a model server that is there already.
func gatewayIn(b testing.TB, env parley.Env, path, model string, settings ...func(*config.Config)) visitor {
	b.Helper()
	if path == "" {
		path = filepath.Join(b.TempDir(), "parley.db")
	}
	cfg, err := parley.DefaultConfig(func(string) (string, bool) { return "", false })
	require.NoError(b, err)
	cfg.Providers.OpenAI.BaseURL, cfg.Providers.OpenAI.APIKey = model, "none"
	cfg.Models.Large.Model = modelfake.DefaultModel
	cfg.Store = config.DSN("sqlite:" + path)
	cfg.Web.Listen, cfg.Web.Limits = "127.0.0.1:0", config.Limits{}
	cfg.Limits.Parallel = 0 // all visitors have one address, which is billed: they would wait for each other
	for _, set := range settings {
		set(&cfg)
	}
	g, err := parley.New(cfg, env)
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return visitor{client(b), "http://" + g.Addr().String()}
}

// model serves a model on a free port.
func model(b testing.TB, choose func(modelfake.Request) modelfake.Script) (base string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(modelfake.New(modelfake.Options{Choose: choose}).Serve(l))
	return "http://" + l.Addr().String()
}

// client keeps every connection, as the browsers of many people would.
func client(tb testing.TB) *http.Client {
	t := &http.Transport{MaxIdleConnsPerHost: 2000}
	tb.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}
