package main_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/require"
	"parley/internal/version"
)

func TestUnknownCommand(t *testing.T) {
	out, err := command(t, nil, "foo").CombinedOutput()
	if code := status(t, err); code == 0 || !strings.Contains(string(out), `no command "foo"`) || strings.Contains(string(out), "--listen") {
		t.Errorf("it ended with %d and wrote %s", code, out)
	}
}

func TestVersion(t *testing.T) {
	out, err := command(t, nil, "--version").CombinedOutput()
	if code := status(t, err); code != 0 || !strings.HasPrefix(string(out), "parley "+version.Release+" (commit ") || !strings.Contains(string(out), "go1.") {
		t.Errorf("it ended with %d and wrote %q", code, out)
	}
}

// What is piped in stands below the question; an empty question without it is an error.
func TestQuestionsAndStandardInput(t *testing.T) {
	for name, c := range map[string]struct {
		prompt string
		in     io.Reader
		code   int
		want   string
	}{
		"a question and a text":        {"summarize this", strings.NewReader("first line\n\nlast line\n"), 0, "> summarize this\n> \n> first line\n> \n> last line\n"},
		"a text alone":                 {"", strings.NewReader("say this"), 0, "> say this\n"},
		"a question alone":             {"just this", nil, 0, "> just this\n"},
		"a question and an empty pipe": {"just this", strings.NewReader(""), 0, "> just this\n"},
		"nothing":                      {" ", nil, 1, "-p is empty"},
		"nothing, and an empty pipe":   {"", strings.NewReader("\n"), 1, "-p is empty"},
		"a text that is too long":      {"summarize", strings.NewReader(strings.Repeat("ä", 32_000)), 1, "32000 characters"},
		"a text far too long":          {"summarize", strings.NewReader(strings.Repeat("ä", 1<<20)), 1, "32000 characters"},
		"no text":                      {"summarize", strings.NewReader("\xff\xfe\x00"), 1, "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			asks := command(t, nil, "chat", "-p", c.prompt)
			asks.Stdin = c.in
			out, err := asks.CombinedOutput()
			if code := status(t, err); code != c.code || !strings.Contains(string(out), c.want) {
				t.Errorf("it ended with %d and wrote %q, want %q", code, out, c.want)
			}
		})
	}
}

// A pipe that nothing is written to, as a service manager may leave one, holds no question up.
func TestSilentPipe(t *testing.T) {
	in, keep, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer keep.Close()
	asks := command(t, nil, "chat", "-p", "just this")
	asks.Stdin = in
	begun := time.Now()
	out, err := asks.CombinedOutput()
	if code := status(t, err); code != 0 || !strings.Contains(string(out), "> just this\n") || !strings.Contains(string(out), "No input on standard input") {
		t.Errorf("it ended with %d after %v and wrote %q", code, time.Since(begun), out)
	}
}

// The report for programs has the same findings as the one for people, also where the configuration can't be read.
func TestCheckAsJSON(t *testing.T) {
	for name, c := range map[string]struct {
		text               string
		code               int
		problems, warnings int
	}{
		"fine":            {"web: {listen: 127.0.0.1:0}\n", 0, 0, 0},
		"a problem":       {"web: {listen: 127.0.0.1:0}\nshared: redis://127.0.0.1:1\n", 1, 1, 0},
		"no such setting": {"wep: 1\n", 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			check := command(t, nil, "check", "--json")
			configure(t, check, c.text)
			out, err := check.Output()
			var r struct {
				Findings                 []struct{ Part, Result, Text string }
				Fine, Warnings, Problems int
			}
			if invalid := json.Unmarshal(out, &r); invalid != nil || status(t, err) != c.code || r.Problems != c.problems || r.Warnings != c.warnings || len(r.Findings) == 0 {
				t.Errorf("%v, %v: %s", invalid, err, out)
			}
		})
	}
}

// Files that other users can read are a warning, which --fix mends.
func TestCheckFixesPermissions(t *testing.T) {
	first := command(t, nil, "check")
	configure(t, first, "web: {listen: 127.0.0.1:0}\n")
	env := filepath.Join(first.Dir, ".env")
	require.NoError(t, os.WriteFile(env, []byte("OTHER=1\n"), 0o644))
	for _, c := range []struct{ fix, says, ends string }{
		{"", "check --fix makes it private", " fine, 1 warning\n"}, {"--fix", "is private now", " fine\n"}, {"", "ok    file", " fine\n"},
	} {
		again := command(t, nil, append([]string{"check"}, strings.Fields(c.fix)...)...)
		again.Dir = first.Dir
		out, err := again.Output()
		if status(t, err) != 0 || !strings.Contains(string(out), c.says) || !strings.HasSuffix(string(out), c.ends) {
			t.Errorf("check %s: %v: %s", c.fix, err, out)
		}
	}
	if info, err := os.Stat(env); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf(".env is %v, %v", info, err)
	}
}

// Before the first start there is nothing to read: commands that need the store say what to do, and create no file.
func TestCommandsBeforeTheFirstStart(t *testing.T) {
	for _, line := range []string{
		"pair --list", "pair --web", "pair AAAA-BBBB", "pair --remove telegram:1", "runs", "runs list", "runs retry x", "status",
		"person export telegram:1", "person export telegram:1 -o ada.json", "person delete telegram:1 --yes", "restore --confirm", "migrate --to postgres://127.0.0.1:1/x",
	} {
		t.Run(line, func(t *testing.T) {
			c := command(t, nil, strings.Fields(line)...)
			out, err := c.CombinedOutput()
			if code := status(t, err); code != 1 {
				t.Errorf("it ends with %d", code)
			}
			if text := string(out); !strings.HasSuffix(text, "there is no store at "+c.Dir+"/parley.db yet; start the gateway first\n") || strings.Count(text, "\n") != 1 {
				t.Errorf("it says %q", out)
			}
			files, err := os.ReadDir(c.Dir)
			if err != nil || len(files) > 0 {
				t.Errorf("it left %v, %v", files, err)
			}
		})
	}
}

// A key is printed once, listed without its text, and gone when it is revoked; without a gateway too.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	keys := func(code int, want string, args ...string) string {
		t.Helper()
		c := command(t, nil, append([]string{"keys"}, args...)...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if got := status(t, err); got != code || !strings.Contains(string(out), want) {
			t.Fatalf("keys %v: %d %q; want %d, %q", args, got, out, code, want)
		}
		return string(out)
	}
	keys(0, "There are no API keys", "list")
	text, _, _ := strings.Cut(keys(0, "parley_", "create", "our app", "--scope", "read", "--days", "2"), "\n")
	list := keys(0, "our app", "list")
	if strings.Contains(list, text) || !strings.Contains(list, "read") {
		t.Errorf("listed is %q", list)
	}
	id := strings.Fields(strings.Split(list, "\n")[1])[0]
	keys(0, "is revoked", "revoke", id)
	keys(1, "there is no key", "revoke", id)
	keys(0, "There are no API keys", "list")
	keys(1, "--days is not between", "create", "x", "--days", "0")
}

// The exit code is that of a health check: 0 only if the gateway can accept messages.
func TestHealth(t *testing.T) {
	full := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, "not ready: the disk is full", http.StatusServiceUnavailable)
	}))
	defer full.Close()
	g := start(t, command(t, nil, "--listen", "127.0.0.1:0"))
	address := strings.TrimPrefix(g.url, "http://")
	_, port, _ := net.SplitHostPort(address)
	for name, c := range map[string]struct {
		config string
		args   []string
		code   int
		says   string
	}{
		"ready":                     {"", []string{"--listen", address}, 0, "ready"},
		"listens on all interfaces": {"", []string{"--listen", "0.0.0.0:" + port}, 0, "ready"},
		"of the configuration":      {"web: {listen: " + address + "}\n", nil, 0, "ready"},
		"not ready":                 {"", []string{"--listen", strings.TrimPrefix(full.URL, "http://")}, 1, "not ready: the disk is full"},
		"no gateway":                {"", []string{"--listen", "127.0.0.1:1"}, 1, "no gateway answers at 127.0.0.1:1"},
		"a free port":               {"web: {listen: 127.0.0.1:0}\n", nil, 1, "name it with --listen"},
		"no address":                {"", []string{"--listen", "8080"}, 1, "HOST:PORT"},
	} {
		t.Run(name, func(t *testing.T) {
			check := command(t, []string{"HTTP_PROXY=http://127.0.0.1:1"}, append([]string{"health"}, c.args...)...)
			if c.config != "" {
				configure(t, check, c.config)
			}
			out, err := check.CombinedOutput()
			if code := status(t, err); code != c.code || !strings.Contains(string(out), c.says) {
				t.Errorf("it ended with %d and wrote %s", code, out)
			}
		})
	}
	_ = g.Process.Kill()
	g.wait(t)
}
