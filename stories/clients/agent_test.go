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
			cfg := require.Value(parley.DefaultConfig(func(string) (string, bool) { return "", false }))(t)
			cfg.Store, cfg.Web.Listen, cfg.Web.Limits = config.DSN("sqlite:"+filepath.Join(t.TempDir(), "parley.db")), "127.0.0.1:0", config.Limits{}
			cfg.Models.Chat = []config.ChatModel{{Name: "mine", Provider: "http", URL: address, Protocol: "ag-ui", History: "full", Thinking: "full"}}
			cfg.Models.Large = config.Model{Provider: "http"}
			g := require.Value(parley.New(cfg, parley.Env{Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))}))(t)
			p := gatewaytest.Start(t.Context(), g.Run)
			defer func() { require.NoError(t, p.Stop()) }()
			b := &sim.Browser{HTTP: http.DefaultClient, Base: "http://" + g.Addr().String()}
			conversation := require.Value(b.Open(t.Context()))(t)
			s := require.Value(b.Send(t.Context(), conversation, "1", "A train to Berlin"))(t)
			var stages, shown string
			for {
				e := require.Value(s.Next())(t)
				if e.Type == "tool" {
					stages += e.ToolName + " "
				}
				if e.Choices != nil {
					shown = s.Text()
					require.Value(b.Choose(t.Context(), conversation, *e.Choices, 1))(t)
					break
				}
			}
			if shown != "I search for trains.\n\nFound 2\n\nWhich train?" && shown != "I search for trains.\n\nWhich train?\n\nFound 2" || !strings.Contains(stages, "find_trains") {
				t.Errorf("the page shows %q and the calls %q", shown, stages)
			}
			require.Value(s.All())(t)
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
	line := require.Value(bufio.NewReader(out).ReadString('\n'))(t)
	return strings.TrimSpace(line)
}
