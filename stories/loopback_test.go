package stories_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/config"
	. "parley/connectors/connectortest"
	"parley/models/modelfake"
	"parley/sim"
)

// bell rings when something was logged or answered: that is when it is worth looking again.
type bell chan struct{}

func (b bell) Write(p []byte) (int, error) { b.ring(); return len(p), nil }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default: // it has rung
	}
}

func (b bell) after(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer b.ring()
		h.ServeHTTP(w, r)
	})
}

// The same once more with real sockets and a real clock: say, answer, edit, end.
func TestLoopback(t *testing.T) {
	for _, p := range sites() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			must := func(err error) {
				if t.Helper(); err != nil {
					t.Fatal(err)
				}
			}
			w, err := p.world()
			must(err)
			defer w.Close()
			changed := make(bell, 1)
			server := httptest.NewServer(changed.after(w.Handler()))
			defer server.Close()
			model := modelfake.New(modelfake.Options{Key: secretKey})
			provider := httptest.NewServer(model)
			defer provider.Close()

			cfg, err := parley.DefaultConfig(func(string) (string, bool) { return "", false })
			must(err)
			cfg.Providers.OpenAI.BaseURL, cfg.Providers.OpenAI.APIKey = provider.URL+"/v1", secretKey
			cfg.Store, cfg.Web.Listen = config.DSN("sqlite:"+filepath.Join(t.TempDir(), "parley.db")), "127.0.0.1:0"
			cfg.Access.Allow.Users = []config.Account{config.Account(w.Account(Ada))}
			p.use(&cfg, w, server.URL)
			var log sim.Log
			g, err := parley.New(cfg, parley.Env{Log: slog.New(slog.NewTextHandler(io.MultiWriter(&log, changed), nil))})
			must(err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- g.Run(ctx) }()
			wait := func(until func() bool) {
				for !until() {
					<-changed
				}
			}
			wait(func() bool { return strings.Contains(log.String(), "connected") })

			place := w.Direct(Ada)
			model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Pause(500 * time.Millisecond), modelfake.Text(" The end.")})
			w.Say(Ada, place, "Tell me")
			wait(func() bool { return slices.Equal(Own(w, place), []string{fox + " The end."}) })
			if n := len(w.Sees(place)[1].Versions); n != 2 {
				t.Errorf("it was shown in %d steps", n)
			}
			stop()
			must(<-ended)
			if bad := w.Refused(); len(bad) > 0 {
				t.Errorf("refused: %q", bad)
			}
		})
	}
}

// The stories compare every request with the platforms' own descriptions of their APIs, where those are at hand.
func TestSpecsAreAtHand(t *testing.T) {
	if os.Getenv("PARLEY_SPECS") == "" {
		t.Skip("PARLEY_SPECS IS NOT SET: NO STORY COMPARES ITS REQUESTS WITH THE OFFICIAL DESCRIPTIONS OF THE APIS")
	}
	for _, p := range sites() {
		if _, err := p.world(); err != nil {
			t.Error(err)
		}
	}
}
