package parley

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"
)

// Whatever others cause, the log has a bound: of each message, of their number, and of each value. Omitted lines are counted.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log, _, err := private(t.Context(), &connectortest.Memory{}, slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})), config.Traces{})
		require.NoError(t, err)
		lines := func(part string) int { return strings.Count(out.String(), part) }
		server := log.With("server", "a")
		for range 3 * logLines {
			server.Warn("a tool is left out")
		}
		log.Warn("something else")
		if lines("a tool is left out") != logLines || lines("note=") != 1 || lines("something else") != 1 {
			t.Errorf("%d lines:\n%s", lines("a tool is left out"), out.String())
		}
		time.Sleep(logWindow)
		out.Reset()
		server.Warn("a tool is left out")
		server.WithGroup("g").Warn("a tool is left out")
		if lines(`message="a tool is left out" lines=200`) != 1 || lines("a tool is left out") != 3 {
			t.Error(out.String())
		}
		out.Reset()
		for range 2 * logLines {
			log.Debug("debug")
		}
		if lines("debug") != 2*logLines {
			t.Errorf("%d debug lines", lines("debug"))
		}
		out.Reset()
		long := strings.Repeat("ä", 1<<20)
		log.Warn(long, "text", long, "err", fmt.Errorf("failed: %w", errors.New(long)), slog.Group("g", "text", long))
		if out.Len() > 4*logValue || lines("…") != 4 {
			t.Errorf("%d bytes", out.Len())
		}
		out.Reset()
		for n := range 3 * logKinds {
			log.Warn(fmt.Sprint("kind ", n))
		}
		if n := lines("kind "); n > logKinds+logLines {
			t.Errorf("%d kinds", n)
		}
	})
}
