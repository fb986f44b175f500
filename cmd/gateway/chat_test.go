package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/internal/require"
	"parley/models/modelfake"
)

// A script reads the answer alone, or every event of it, and never a control sequence.
func TestChatForScripts(t *testing.T) {
	c := command(t, []string{"TERM=xterm-256color"}, "chat", "-p", "Roll a die")
	out, err := c.Output()
	if code := status(t, err); code != 0 || !strings.Contains(string(out), "🎲") || bytes.ContainsRune(out, '\x1b') {
		t.Errorf("it ended with %d and wrote %q", code, out)
	}

	again := command(t, nil, "chat", "--continue", "--json", "-p", "hello")
	again.Dir = c.Dir
	out, err = again.Output()
	if code := status(t, err); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	var last struct{ Type, FullText string }
	for line := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	if last.Type != "done" || !strings.Contains(last.FullText, "I can see 2 messages from you") {
		t.Errorf("at last it wrote %+v", last)
	}
}

// A script is told on the way what is important, and nothing else, beside the answer.
func TestChatTellsWhatIsImportant(t *testing.T) {
	var asked atomic.Bool
	music := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !asked.Swap(true) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer music.Close()
	fake := modelfake.New(modelfake.Options{})
	fake.Queue(modelfake.Script{modelfake.ToolCall("c", "PLAY_MUSIC", `{"title":"so what"}`)}, modelfake.Script{modelfake.Text("Enjoy it.")})
	model := httptest.NewServer(fake)
	defer model.Close()
	c := command(t, []string{"OPENAI_BASE_URL=" + model.URL + "/v1", "OPENAI_MODEL=m"}, "chat", "-p", "play")
	configure(t, c, "plugins:\n  player:\n    urls: ["+music.URL+"/so_what.mp3?key=x]\n")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if code := status(t, err); code != 0 || string(out) != "🎵 Now playing: **so what**\n\nEnjoy it.\n" {
		t.Errorf("it ended with %d and wrote %q", code, out)
	}
	if s := stderr.String(); !strings.Contains(s, "🔁 The server of “so what” is not responding; trying again…\n") || strings.Contains(s, "Setting up") {
		t.Errorf("beside it, it wrote %q", s)
	}
}

// Each line that is piped in is a message.
func TestChatFromAPipe(t *testing.T) {
	c := command(t, nil, "chat")
	c.Stdin = strings.NewReader("hello\n\nhow are you?\n")
	out, err := c.Output()
	if code := status(t, err); code != 0 || !strings.Contains(string(out), "> how are you?") {
		t.Errorf("it ended with %d and wrote %q", code, out)
	}
}

// A failure ends a script with 1, and its sentence is not taken for an answer.
func TestChatFails(t *testing.T) {
	c := command(t, []string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1", "OPENAI_MODEL=m"}, "chat", "-p", "hello")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if code := status(t, err); code != 1 || len(out) != 0 || !strings.Contains(stderr.String(), "no answer") {
		t.Errorf("it ended with %d, wrote %q and said %q", code, out, &stderr)
	}
	fake := modelfake.New(modelfake.Options{})
	fake.Queue(modelfake.Script{modelfake.Text("Well"), modelfake.Finish("content_filter")})
	model := httptest.NewServer(fake)
	defer model.Close()
	out, err = command(t, []string{"OPENAI_BASE_URL=" + model.URL + "/v1", "OPENAI_MODEL=m"}, "chat", "-p", "hello").CombinedOutput()
	if code := status(t, err); code != 1 || !strings.Contains(string(out), "no answer: Well") || !strings.Contains(string(out), "content filter") {
		t.Errorf("filtered, it ended with %d and said %q", code, out)
	}
	out, err = command(t, nil, "chat", "--url", "http://127.0.0.1:1", "-p", "hello").CombinedOutput()
	if code := status(t, err); code != 1 || !strings.Contains(string(out), "--url") {
		t.Errorf("it ended with %d and said %q", code, out)
	}
}

// At the daily limit a script reads each time what happened and when it resets, and ends with 1.
func TestChatAtTheLimit(t *testing.T) {
	c := command(t, nil, "chat")
	configure(t, c, "limits:\n  person: {messages: 1}\n")
	for i, want := range []string{"hello", "no answer: You've reached your daily limit. It resets in ", "no answer: You've reached your daily limit. It resets in "} {
		asked := command(t, nil, "chat", "-p", "hello")
		asked.Dir, asked.Env = c.Dir, c.Env
		out, err := asked.CombinedOutput()
		if code := status(t, err); code != min(i, 1) || !strings.Contains(string(out), want) {
			t.Errorf("question %d ends with %d and %q; want %q", i, code, out, want)
		}
	}
}

// While a gateway of the same configuration runs, the chat is with that one.
func TestChatWithTheRunningGateway(t *testing.T) {
	fake := modelfake.New(modelfake.Options{})
	fake.Queue(modelfake.Script{modelfake.Text("I was here before.")})
	server := httptest.NewServer(fake)
	defer server.Close()
	l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	l.Close()
	running := command(t, []string{"OPENAI_BASE_URL=" + server.URL + "/v1", "OPENAI_MODEL=m"})
	configure(t, running, "web:\n  listen: "+address+"\n")
	g := start(t, running)
	chat := command(t, nil, "chat", "-p", "hello")
	chat.Dir = running.Dir
	out, err := chat.CombinedOutput()
	if code := status(t, err); code != 0 || string(out) != "I was here before.\n" {
		t.Errorf("it ended with %d and wrote %q", code, out)
	}
	_ = g.Process.Signal(syscall.SIGTERM)
	if code := g.wait(t); code != 0 {
		t.Errorf("the gateway ended with %d", code)
	}
}

// A script and a reader of the events are told where the pictures of an answer are. A browser opens these addresses where the
// owner is logged in; to others the conversation does not exist.
func TestChatWithPictures(t *testing.T) {
	fake := modelfake.New(modelfake.Options{})
	server := httptest.NewServer(fake)
	defer server.Close()
	model := []string{"OPENAI_BASE_URL=" + server.URL + "/v1", "OPENAI_MODEL=m"}
	running := command(t, model)
	l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	l.Close()
	file := "web:\n  listen: " + address + "\nmodels:\n  image:\n    model: brush\n"
	require.NoError(t, os.WriteFile(filepath.Join(running.Dir, "config.yaml"), []byte(file), 0o600))
	g := start(t, running)
	browser := ownersBrowser(t, model, running.Dir, "http://"+address)
	for _, args := range [][]string{{"chat", "-p", "draw"}, {"chat", "--json", "-p", "draw"}} {
		fake.Queue(modelfake.Script{modelfake.ToolCall("c", "GENERATE_IMAGE", `{"prompt":"tea"}`)}, modelfake.Script{modelfake.Text("Here it is.")})
		chat := command(t, model, args...)
		chat.Dir = running.Dir
		out, err := chat.CombinedOutput()
		at := regexp.MustCompile(`api/conversations/[^"\s]+/files/0`).Find(out)
		if code := status(t, err); code != 0 || at == nil {
			t.Fatalf("%q ended with %d and wrote %s", args, code, out)
		}
		if resp, err := http.Get("http://" + address + "/" + string(at)); err != nil || resp.StatusCode != http.StatusNotFound {
			t.Errorf("without a login: %v, %v", resp, err)
		}
		resp := require.Value(browser.Get("http://" + address + "/" + string(at)))(t)
		picture, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Equal(picture, modelfake.Picture(2, 2)) {
			t.Errorf("at %s there is %q, %v", at, picture, err)
		}
	}
	_ = g.Process.Signal(syscall.SIGTERM)
	g.wait(t)
}

// ownersBrowser returns a client that is logged in with a code of pair --web, at the gateway with the configuration in dir.
func ownersBrowser(t *testing.T, env []string, dir, address string) *http.Client {
	t.Helper()
	pair := command(t, env, "pair", "--web")
	pair.Dir = dir
	out, err := pair.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	code, _, _ := strings.Cut(string(out), "\n")
	req := require.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/api/login", strings.NewReader(`{"code":"`+code+`"}`)))(t)
	req.Header.Set("Origin", address)
	req.Header.Set("Content-Type", "application/json")
	jar := require.Value(cookiejar.New(nil))(t)
	client := &http.Client{Jar: jar}
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("log in: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
	return client
}

// pane is a terminal with a chat in it, driven by tmux.
type pane struct {
	*testing.T
	socket, name string
}

func openChat(t *testing.T) *pane {
	t.Helper()
	chat := "env -i TERM=screen LANG=C.UTF-8 LC_ALL=C.UTF-8 " + binary + " chat"
	return inPane(t, chat+"; clear; echo AGAIN; "+chat+" --continue; echo LEFT; sleep 600")
}

// inPane runs a line of a shell in an empty folder.
func inPane(t *testing.T, line string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: there is no tmux; install it to see the chat in a terminal")
	}
	p := &pane{t, filepath.Join(t.TempDir(), "tmux"), strings.ReplaceAll(t.Name(), "/", "-")}
	c := exec.Command("tmux", "-S", p.socket, "-f", "/dev/null", "new-session", "-d", "-x", "72", "-y", "20", line)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	t.Cleanup(func() {
		p.keep()
		p.tmux("kill-server")
	})
	return p
}

func (p *pane) tmux(args ...string) string {
	p.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (p *pane) keys(keys ...string) { p.tmux(append([]string{"send-keys"}, keys...)...) }

// screen is all that was written, also what has scrolled away, without styles.
func (p *pane) screen() string { return p.tmux("capture-pane", "-p", "-S", "-") }

// want waits until the screen satisfies f.
func (p *pane) want(what string, f func(screen string) bool) string {
	p.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if s := p.screen(); f(s) {
			return s
		}
	}
	p.Fatalf("there is no %s:\n%s", what, p.screen())
	return ""
}

func (p *pane) shows(part string) string {
	p.Helper()
	return p.want(part, func(s string) bool { return strings.Contains(s, part) })
}

// prompts waits for the nth prompt.
func (p *pane) prompts(n int) string {
	p.Helper()
	return p.want("prompt", func(s string) bool {
		s = strings.TrimRight(s, "\n ")
		return strings.Count(s, "›") == n && strings.HasSuffix(s, "›")
	})
}

// keep leaves the screen, with its colors, where PARLEY_ARTIFACTS says.
func (p *pane) keep() {
	if dir := os.Getenv("PARLEY_ARTIFACTS"); dir != "" {
		screen := p.tmux("capture-pane", "-p", "-e", "-S", "-")
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, p.name+".txt"), []byte(screen), 0o644)
		}
		if err != nil {
			p.Error(err)
		}
	}
}

// A person at a terminal: statuses replace each other in place, a tool's life is one line, Ctrl-C stops an answer and
// Ctrl-D leaves. What was said before is there the next time.
func TestChatInATerminal(t *testing.T) {
	p := openChat(t)
	p.prompts(1)
	p.keys("Show me progress", "Enter")
	p.shows("▸ PLAY_DEMO")
	p.shows("Searching")
	s := p.prompts(2)
	if strings.Contains(s, "Searching") || strings.Count(s, "Now playing: Clair de Lune") != 2 || !strings.Contains(s, "✓ PLAY_DEMO") {
		t.Errorf("at the end one sees\n%s", s)
	}
	p.keys("Tell me a long story", "Enter")
	p.shows("2. ")
	p.keys("C-c")
	p.shows("(Stopped.)")
	p.keys("hello", "Enter")
	p.shows("I can see 3 messages from you")
	live := p.prompts(4)
	p.keys("C-d")
	p.shows("AGAIN")
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`) // another one if the usual one is taken
	_, again, _ := strings.Cut(p.prompts(4), "AGAIN\n")
	if strings.TrimSpace(address.ReplaceAllString(again, "")) != strings.TrimSpace(address.ReplaceAllString(live, "")) {
		t.Errorf("the next time one sees\n%s\nand saw\n%s", again, live)
	}
	p.keys("C-d")
	p.shows("LEFT")
}
