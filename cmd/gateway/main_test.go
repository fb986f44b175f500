package main_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/require"
	"parley/models/modelfake"
)

var binary string

// TestMain builds the real program: the tests run the released form, also in an image without libraries.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "gateway")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, ".") // as releases and images are built, so that all share the compiled packages
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// command prepares the program in an empty folder and an empty environment.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // many commands at a time are slow
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, binary, args...)
	c.Dir = t.TempDir()
	c.Env = append(env, "HOME="+c.Dir)
	return c
}

// configure gives c a config.yaml.
func configure(t *testing.T, c *exec.Cmd, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "config.yaml"), []byte(text), 0o600))
}

// gateway is a running program.
type gateway struct {
	*exec.Cmd
	url    string
	setup  chan string // has the address of the page that sets it up, if there is one; closed when it has printed its last
	stderr bytes.Buffer
	rest   chan struct{} // closed when it has printed its last
}

func start(t *testing.T, c *exec.Cmd) *gateway {
	t.Helper()
	g := &gateway{Cmd: c, rest: make(chan struct{}), setup: make(chan string, 1)}
	out := require.Value(c.StdoutPipe())(t)
	c.Stderr = &g.stderr
	require.NoError(t, c.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("it printed nothing: %v\n%s", c.Wait(), g.stderr.String())
	}
	g.url = regexp.MustCompile(`http://\S+`).FindString(lines.Text())
	go func() {
		for lines.Scan() {
			if link := regexp.MustCompile(`http://\S+/setup\S+`).FindString(lines.Text()); link != "" {
				g.setup <- link
			}
		}
		close(g.setup)
		close(g.rest)
	}()
	return g
}

// wait returns the exit status.
func (g *gateway) wait(t *testing.T) int {
	t.Helper()
	<-g.rest
	return status(t, g.Wait())
}

func status(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// ask sends a message and returns the open stream, once the first text has come.
func (g *gateway) ask(t *testing.T, text string) io.ReadCloser {
	t.Helper()
	resp, err := http.Post(g.url+"/api/conversations", "application/json", nil)
	require.NoError(t, err)
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	id := regexp.MustCompile(`"id":"(\w+)"`).FindSubmatch(body)
	if id == nil {
		t.Fatalf("no conversation: %s", body)
	}
	resp, err = http.Post(g.url+"/api/conversations/"+string(id[1])+"/messages/stream", "application/json",
		strings.NewReader(`{"text":"`+text+`","clientMessageId":"m"}`))
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	r := bufio.NewReader(resp.Body)
	for {
		line := require.Value(r.ReadString('\n'))(t)
		if strings.Contains(line, `"token"`) {
			return resp.Body
		}
	}
}

// Nothing but the program: it answers, says what is off, and ends well when told to.
func TestRunWithNothingConfigured(t *testing.T) {
	g := start(t, command(t, nil, "--listen", "127.0.0.1:0"))
	resp := require.Value(http.Get(g.url + "/"))(t)
	page, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !bytes.Contains(page, []byte("Parley")) {
		t.Errorf("the page is %d %s", resp.StatusCode, page)
	}
	g.ask(t, "hello").Close()
	require.NoError(t, g.Process.Signal(syscall.SIGTERM))
	if code := g.wait(t); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	for _, want := range []string{"OPENAI_API_KEY", "DISCORD_TOKEN", "TELEGRAM_TOKEN", "stopped"} {
		if !strings.Contains(g.stderr.String(), want) {
			t.Errorf("the log does not tell of %s:\n%s", want, &g.stderr)
		}
	}
}

// A second signal does not wait for answers.
func TestSecondSignal(t *testing.T) {
	g := start(t, command(t, nil, "--listen", "127.0.0.1:0"))
	defer g.ask(t, "long").Close()
	for ended := false; !ended; { // until it has taken two: two at once are one
		_ = g.Process.Signal(os.Interrupt)
		select {
		case <-g.rest:
			ended = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	if code := g.wait(t); code != 130 {
		t.Errorf("it ended with %d:\n%s", code, &g.stderr)
	}
}

func TestConfigurationError(t *testing.T) {
	c := command(t, nil, "run")
	configure(t, c, "web:\n  lisen: 127.0.0.1:0\n")
	out, err := c.CombinedOutput()
	if code := status(t, err); code != 1 || !strings.Contains(string(out), "config.yaml:2:3") || !strings.Contains(string(out), "listen") {
		t.Errorf("%d: %s", code, out)
	}
}

func TestNamedFileIsMissing(t *testing.T) {
	out, err := command(t, nil, "--config", "other.yaml").CombinedOutput()
	if code := status(t, err); code != 1 || !strings.Contains(string(out), "other.yaml") {
		t.Errorf("%d: %s", code, out)
	}
}

func TestAddressInUse(t *testing.T) {
	g := start(t, command(t, nil, "--listen", "127.0.0.1:0"))
	out, err := command(t, nil, "--listen", strings.TrimPrefix(g.url, "http://")).CombinedOutput()
	if code := status(t, err); code != 1 || !strings.Contains(string(out), "--listen") || strings.Contains(string(out), "store") {
		t.Errorf("%d: %s", code, out)
	}
	_ = g.Process.Kill()
	g.wait(t)
}

// One file has one gateway; the second says who the first is.
func TestStoreInUse(t *testing.T) {
	g := start(t, command(t, nil, "--listen", "127.0.0.1:0"))
	second := command(t, nil, "--listen", "127.0.0.1:0")
	second.Dir = g.Dir
	out, err := second.CombinedOutput()
	if code := status(t, err); code != 1 || !strings.Contains(string(out), "parley.db") {
		t.Errorf("%d: %s", code, out)
	}
	_ = g.Process.Kill()
	g.wait(t)
}

func TestCheck(t *testing.T) {
	fake := httptest.NewServer(modelfake.New(modelfake.Options{Key: "sk-right-0123456789", Models: []string{"one", "two"}}))
	defer fake.Close()
	base := "OPENAI_BASE_URL=" + fake.URL + "/v1"
	for name, c := range map[string]struct {
		env  []string
		code int
		want []string
	}{
		"nothing set":   {nil, 0, []string{"ok    store", "demo", "OPENAI_API_KEY", " fine"}},
		"all right":     {[]string{base, "OPENAI_API_KEY=sk-right-0123456789", "OPENAI_MODEL=one"}, 0, []string{"ok    models.large"}},
		"which model":   {[]string{base, "OPENAI_API_KEY=sk-right-0123456789"}, 1, []string{"FAIL", "one", "two", "OPENAI_MODEL", "1 problem to fix"}},
		"wrong key":     {[]string{base, "OPENAI_API_KEY=sk-wrong-0123456789", "OPENAI_MODEL=one"}, 1, []string{"FAIL  models.large"}},
		"no such model": {[]string{base, "OPENAI_API_KEY=sk-right-0123456789", "OPENAI_MODEL=three"}, 1, []string{"FAIL  models.large"}},
		"no server":     {[]string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1", "OPENAI_MODEL=m"}, 1, []string{"FAIL  models.large"}},
		"no Redis":      {[]string{"REDIS_URL=redis://:hunter2hunter2@127.0.0.1:1"}, 1, []string{"FAIL  shared", "127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			check := command(t, c.env, "check")
			configure(t, check, "web:\n  listen: 127.0.0.1:0\n")
			out, err := check.CombinedOutput()
			if code := status(t, err); code != c.code {
				t.Errorf("it ended with %d", code)
			}
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("it does not say %q", want)
				}
			}
			for _, secret := range []string{"sk-right-0123456789", "sk-wrong-0123456789", "hunter2"} {
				if strings.Contains(string(out), secret) {
					t.Errorf("it shows %s", secret)
				}
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}
