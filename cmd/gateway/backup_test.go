package main_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/internal/require"
)

// The way of an owner: back up while the gateway runs, lose the store, restore it, confirm. Each mistake on the way ends with a
// sentence and changes nothing.
func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	gateway := func(args ...string) *gateway {
		c := command(t, nil, append([]string{"--listen", "127.0.0.1:0"}, args...)...)
		c.Dir = dir
		return start(t, c)
	}
	run := func(code int, says string, args ...string) {
		t.Helper()
		c := command(t, nil, args...)
		c.Dir = dir
		if out, got := end(t, c); got != code || !strings.Contains(out, says) {
			t.Errorf("%v ends with %d: %s; want %d, %q", args, got, out, code, says)
		}
	}
	run(1, "there is no file", "backup", "early.db")
	g := gateway()
	body := g.ask(t, "remember the lighthouse")
	_, _ = io.Copy(io.Discard, body)
	body.Close()
	run(0, "2 messages", "backup", "copy.db")
	run(1, "exists already", "backup", "copy.db")
	run(1, "name a new file", "backup", "-")
	run(0, `"sections"`, "person", "export", "telegram:123456789", "-o", "-")
	if _, err := os.Stat(filepath.Join(dir, "-")); err == nil {
		t.Error("there is a file with the name -")
	}
	run(1, "exists already", "backup", "parley.db")
	run(1, "choose another name", "backup", "parley.db-journal")
	run(1, "does not exist", "backup", filepath.Join("no", "copy.db"))
	c := exec.CommandContext(t.Context(), "sh", "-c", "ulimit -f 100 && "+binary+" backup full.db") // as on a full disk
	c.Dir, c.Env = dir, []string{"HOME=" + dir}
	if out, code := end(t, c); code != 1 || !strings.Contains(out, "free some space") {
		t.Errorf("without space, it ends with %d: %s", code, out)
	}
	for name, text := range map[string]string{"garbage.db": strings.Repeat("garbage ", 1000), "empty.db": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		run(1, "restore another backup", "restore", name)
	}
	run(1, "stop it first", "restore", "copy.db")
	if resp, err := http.Get(g.url + "/readyz"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the gateway after the attempts: %v, %v", resp, err)
	}
	_ = g.Process.Signal(syscall.SIGTERM)
	g.wait(t)
	for _, name := range []string{"parley.db", "parley.db-wal"} {
		_ = os.Remove(filepath.Join(dir, name))
	}
	run(1, "no backup given", "restore")
	run(0, "2 messages were restored", "restore", "copy.db")
	run(0, "schedules and reminders wait for: gateway restore --confirm", "check")
	g = gateway()
	run(0, "schedules and reminders wait for: gateway restore --confirm", "check")
	run(0, "continue", "restore", "--confirm")
	run(0, " fine\n", "check")
	run(0, "Nothing is held", "restore", "--confirm")
	run(0, "2 messages", "backup", "again.db")
	_ = g.Process.Signal(syscall.SIGTERM)
	g.wait(t)
	if !strings.Contains(g.stderr.String(), "gateway restore --confirm") {
		t.Errorf("the log does not tell of the confirmation:\n%s", &g.stderr)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if _, full := os.Stat(filepath.Join(dir, "full.db")); err != nil || len(left) > 1 || full == nil { // the cache of the user
		t.Errorf("left are %q, %v", left, err)
	}
}

// PostgreSQL has its own tools; the commands name them and don't connect.
func TestBackupOfPostgres(t *testing.T) {
	for name, tool := range map[string]string{"backup": "pg_dump", "restore": "pg_restore"} {
		c := command(t, nil, name, "copy.db")
		configure(t, c, "store: \"postgres://parley:hunter2@127.0.0.1:1/parley\"\n")
		if out, code := end(t, c); code != 1 || !strings.Contains(out, tool) || strings.Contains(out, "hunter2") {
			t.Errorf("%s ends with %d: %s", name, code, out)
		}
	}
}
