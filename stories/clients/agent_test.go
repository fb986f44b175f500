package clients_test

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley"
	"parley/config"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/sim"
)

// The packages of AG-UI accept the requests of the gateway, and it reads the events that they write: texts, calls, an activity that
// changes, state, and an interrupt that a choice resumes.
func TestAGUIServer(t *testing.T) {
	for _, version := range []string{"1", "0"} {
		t.Run(version, func(t *testing.T) {
			address := startAgent(t, "agui-agent.mjs", version)
			cfg, err := parley.DefaultConfig(func(string) (string, bool) { return "", false })
			require.NoError(t, err)
			cfg.Store, cfg.Web.Listen, cfg.Web.Limits = config.DSN("sqlite:"+filepath.Join(t.TempDir(), "parley.db")), "127.0.0.1:0", config.Limits{}
			cfg.Models.Chat = []config.ChatModel{{Name: "mine", Provider: "http", URL: address, Protocol: "ag-ui", History: "full", Thinking: "full"}}
			cfg.Models.Large = config.Model{Provider: "http"}
			g, err := parley.New(cfg, parley.Env{Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
			require.NoError(t, err)
			p := gatewaytest.Start(t.Context(), g.Run)
			defer func() { require.NoError(t, p.Stop()) }()
			b := &sim.Browser{HTTP: http.DefaultClient, Base: "http://" + g.Addr().String()}
			conversation, err := b.Open(t.Context())
			require.NoError(t, err)
			s, err := b.Send(t.Context(), conversation, "1", "A train to Berlin")
			require.NoError(t, err)
			var stages, shown string
			for {
				e, err := s.Next()
				require.NoError(t, err)
				if e.Type == "tool" {
					stages += e.ToolName + " "
				}
				if e.Choices != nil {
					shown = s.Text()
					_, err = b.Choose(t.Context(), conversation, *e.Choices, 1)
					require.NoError(t, err)
					break
				}
			}
			if shown != "I search for trains.\n\nFound 2\n\nWhich train?" && shown != "I search for trains.\n\nWhich train?\n\nFound 2" || !strings.Contains(stages, "find_trains") {
				t.Errorf("the page shows %q and the calls %q", shown, stages)
			}
			_, err = s.All()
			require.NoError(t, err)
			if got := s.Text(); !strings.Contains(got, "resolved: 09:30") || strings.Contains(got, "Looking") {
				t.Errorf("after the choice the page shows %q", got)
			}
		})
	}
}

// startAgent runs a script that serves an agent, and returns its address.
func startAgent(t *testing.T, script string, args ...string) string {
	t.Helper()
	dir, err := packages()
	if err != nil {
		t.Fatalf("install the packages: %v; run tools/install.sh", err)
	}
	ctx, kill := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, "node", append([]string{filepath.Join(dir, script)}, args...)...)
	c.Stderr = t.Output()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		kill()
		_ = c.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}
