package main_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/backends/postgres/postgrestest"
	"parley/backends/redis/redistest"
	"parley/internal/require"
	"parley/models/modelfake"
)

// statusOf runs the command for the gateway in dir.
func statusOf(t *testing.T, dir string, code int, args ...string) string {
	t.Helper()
	c := command(t, nil, append([]string{"status"}, args...)...)
	c.Dir, c.Env = dir, []string{"HOME=" + dir}
	out, err := c.Output()
	if got := status(t, err); got != code {
		t.Errorf("status %v: %d %q, want %d", args, got, out, code)
	}
	return string(out)
}

func TestStatusOfOneGateway(t *testing.T) {
	first := command(t, nil, "--listen", "127.0.0.1:0")
	knock(t, first.Dir, nil)
	if out := statusOf(t, first.Dir, 0); !strings.Contains(out, "No gateway is running.\nNothing waits.\n") {
		t.Errorf("before the start: %s", out)
	}
	g := start(t, first)
	defer g.wait(t)
	defer g.Process.Kill()
	me := regexp.MustCompile(fmt.Sprintf(`(?m)^ok +store +sqlite:parley.db answers\nok +shared +.*\nGATEWAY .*\n\S+/%d +running +\d+ s ago +0 +-\nNothing waits.\n$`, g.Process.Pid))
	out := statusOf(t, g.Dir, 0)
	for end := time.Now().Add(30 * time.Second); strings.Contains(out, "No gateway") && time.Now().Before(end); { // before its first heartbeat
		time.Sleep(50 * time.Millisecond)
		out = statusOf(t, g.Dir, 0)
	}
	if !me.MatchString(out) {
		t.Errorf("while it runs: %s", out)
	}
}

// Two gateways share a store. Each is asked for, or the store; no answer names a conversation.
func TestStatusOfReplicas(t *testing.T) {
	database, shared := postgrestest.Start(t), redistest.Start(t)
	stalls := httptest.NewServer(modelfake.New(modelfake.Options{Choose: func(modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Text("So"), modelfake.Pace(time.Hour), modelfake.Text("far", modelfake.ByWord)}
	}}))
	defer stalls.Close()
	dir := t.TempDir()
	text := fmt.Sprintf("web: {listen: 127.0.0.1:0}\nstore: %q\nshared: %q\nproviders: {openai: {base_url: %s/v1}}\nmodels: {large: {model: m}}\n",
		database.Create(t, ""), shared.URL(), stalls.URL)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600))
	run := func() *gateway {
		c := command(t, nil, "run")
		c.Dir, c.Env = dir, []string{"HOME=" + dir}
		return start(t, c)
	}
	a, b := run(), run()
	for _, g := range []*gateway{a, b} {
		defer g.wait(t)
		defer g.Process.Kill()
	}
	a.ask(t, "hello").Close()
	var report struct {
		Store, Shared struct{ OK bool }
		Replicas      []struct {
			Name, State string
			Runs        int
		}
		Waiting int
	}
	var out string
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		out = statusOf(t, dir, 0, "--json")
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if len(report.Replicas) == 2 && report.Replicas[0].Runs+report.Replicas[1].Runs == 1 && report.Waiting == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it says %s", out)
		}
	}
	names := fmt.Sprint(report.Replicas)
	if !report.Store.OK || !report.Shared.OK || strings.Contains(out, "web/") ||
		!strings.Contains(names, fmt.Sprint("/", a.Process.Pid, " running")) || !strings.Contains(names, fmt.Sprint("/", b.Process.Pid, " running")) {
		t.Errorf("it says %s", out)
	}
	shared.Stop()
	if out := statusOf(t, dir, 0); !strings.Contains(out, "FAIL  shared") || strings.Count(out, " running ") != 2 {
		t.Errorf("without Redis: %s", out)
	}
	database.Kill()
	if out := statusOf(t, dir, 1); !strings.Contains(out, "FAIL  store") {
		t.Errorf("without PostgreSQL: %s", out)
	}
}
