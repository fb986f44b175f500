package main_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
	run(1, "exists already", "backup", "parley.db")
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
	g = gateway()
	run(0, "continue", "restore", "--confirm")
	run(0, "Nothing is held", "restore", "--confirm")
	run(0, "2 messages", "backup", "again.db")
	_ = g.Process.Signal(syscall.SIGTERM)
	g.wait(t)
	if !strings.Contains(g.stderr.String(), "gateway restore --confirm") {
		t.Errorf("the log does not tell of the confirmation:\n%s", &g.stderr)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 1 { // the cache of the user
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
