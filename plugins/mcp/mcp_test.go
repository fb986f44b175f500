package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/action"
	"parley/core/action/actiontest"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/schema"
	"parley/sim"
)

// fake is this program as a server.
func fake(t *testing.T, kind string) Server {
	t.Helper()
	program := require.Value(os.Executable())(t)
	return Server{Name: "fake", Command: []string{program}, Env: map[string]string{"FAKE_MCP": kind, "FAKE_TOKEN": "s3cr3t-token"}, Timeout: time.Minute}
}

// started runs the plugin until the end of the test.
func started(t *testing.T, o Options) action.Plugin {
	t.Helper()
	p := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { p.Work(ctx) })
	t.Cleanup(func() { cancel(); work.Wait() })
	return p
}

// until waits for what happens in another process.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 3000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("in vain: %s", what)
}

func find(p action.Plugin, name string) action.Action {
	for _, a := range append(p.Live(), p.Actions...) {
		if a.Spec().Name == name {
			return a
		}
	}
	return nil
}

// named waits for an action.
func named(t *testing.T, p action.Plugin, name string) action.Action {
	t.Helper()
	until(t, name, func() bool { return find(p, name) != nil })
	return find(p, name)
}

func TestCallTool(t *testing.T) {
	t.Setenv("DISCORD_TOKEN", "must-not-be-seen")
	s := fake(t, "good")
	s.Deny = []string{"huge"}
	p := started(t, Options{Servers: []Server{s}})
	echo := named(t, p, "fake__echo")
	if r := actiontest.Make(t, echo, actiontest.Call{Parameters: `{"text":"tea"}`}); r.Text != "echo tea" || r.Err != nil {
		t.Errorf(`%q, %v; want "echo tea"`, r.Text, r.Err)
	}
	if r := actiontest.Make(t, echo, actiontest.Call{Parameters: `{"text":5}`}); r.Err == nil {
		t.Error("parameters that don't fit the schema were sent; want an error")
	}
	if find(p, "fake__huge") != nil {
		t.Error("a denied tool is there")
	}
	r := actiontest.Make(t, find(p, "fake__environment"), actiontest.Call{})
	if strings.Contains(r.Text, "must-not-be-seen") || !strings.Contains(r.Text, "FAKE_TOKEN=") || !strings.Contains(r.Text, "DIR="+os.TempDir()) {
		t.Errorf("the server sees %s", r.Text)
	}
	r = actiontest.Make(t, find(p, "fake__picture"), actiontest.Call{})
	if len(r.Files) != 2 || r.Files[0].Name != "result-2.png" || r.Files[1].Name != "result-3.csv" || string(r.Files[1].Data) != "a,b" {
		t.Errorf("files %+v", r.Files)
	}
	var public *action.PublicError // written for the model: visitors must not read it
	if r := actiontest.Make(t, find(p, "fake__wrong"), actiontest.Call{}); !errors.As(r.Err, &public) || !public.Detail || r.Err.Error() != "There is no such file." {
		t.Errorf("%v", r.Err)
	}
	if r := actiontest.Make(t, find(p, "fake__sample"), actiontest.Call{}); !strings.Contains(r.Text, "sampling: ") || strings.HasSuffix(r.Text, "<nil>") {
		t.Errorf("sampling is not refused: %q", r.Text)
	}
}

// Config decides about effects; the server can only make them graver. Only what reads needs no approval.
func TestEffects(t *testing.T) {
	s := fake(t, "good")
	s.Read, s.Dangerous = []string{"picture", "wipe"}, []string{"exit"}
	p := started(t, Options{Servers: []Server{s}})
	named(t, p, "fake__echo")
	for name, want := range map[string]action.Effect{
		"echo": action.Writes, "picture": action.Reads, "wipe": action.Dangerous, "exit": action.Dangerous, "wrong": action.Writes,
	} {
		a := find(p, "fake__"+name)
		asks := a.(action.Guarded).Guard(&action.Call{}) != nil
		if got := a.Spec().Effect; got != want || asks != (want != action.Reads) {
			t.Errorf("%s: %s, asks %v; want %s", name, got, asks, want)
		}
	}
}

// People read what the configuration calls a tool, or the title that the server gives, or words made from its name.
func TestLabels(t *testing.T) {
	s := fake(t, "good")
	s.Labels, s.Hide = map[string]string{"wipe": "Tidy up"}, []string{"environment"}
	p := started(t, Options{Servers: []Server{s}})
	named(t, p, "fake__echo")
	for name, want := range map[string]string{"wipe": "Tidy up", "picture": "Show a picture", "environment": "Environment"} {
		if spec := find(p, "fake__"+name).Spec(); spec.Title() != want || spec.Hide != (name == "environment") {
			t.Errorf("%s: %q, hidden %v; want %q", name, spec.Title(), spec.Hide, want)
		}
	}
}

// A server that changes its tools is asked again; what has not changed stays the same value.
func TestListChanged(t *testing.T) {
	p := started(t, Options{Servers: []Server{fake(t, "good")}})
	echo := named(t, p, "fake__echo")
	actiontest.Make(t, find(p, "fake__grow"), actiontest.Call{})
	fresh := named(t, p, "fake__new")
	if r := actiontest.Make(t, fresh, actiontest.Call{}); r.Text != "new" {
		t.Errorf(`%q, %v; want "new"`, r.Text, r.Err)
	}
	if find(p, "fake__echo") != echo {
		t.Error("an unchanged tool became another action")
	}
}

func TestElicitation(t *testing.T) {
	p := started(t, Options{Servers: []Server{fake(t, "good")}})
	ask := named(t, p, "fake__ask")
	scene := action.TurnContext{}
	scene.Message.Author = "ada"
	r := actiontest.Make(t, ask, actiontest.Call{Scene: scene, Chosen: []int{1}})
	if r.Text != "acceptmap[size:large]" || len(r.Asked) != 1 || !slices.Equal(r.Asked[0].Options, []string{"small", "large", "I'd rather not"}) {
		t.Errorf("%q, %v, asked %+v", r.Text, r.Err, r.Asked)
	}
	r = actiontest.Make(t, ask, actiontest.Call{Scene: scene, Parameters: `{"text":"secret"}`, Chosen: []int{0}})
	if r.Text != "declinemap[]" || len(r.Asked) != 0 {
		t.Errorf(`text is asked for: %q, %+v; want "declinemap[]" and none`, r.Text, r.Asked)
	}
	r = actiontest.Make(t, ask, actiontest.Call{Scene: scene, Parameters: `{"text":"several"}`, Words: []string{"next week", "24.12.2026\n9", "3", "Yes\n-"}})
	if want := "acceptmap[again:true day:2026-12-24 guests:3]"; r.Text != want || len(r.Asked) != 4 || len(r.Asked[0].Fields) != 4 {
		t.Errorf("a form: %q, %v, asked %+v; want %q after 4 questions", r.Text, r.Err, r.Asked, want)
	}
	if len(r.Shown) == 0 || !strings.Contains(strings.Join(r.Shown, "|"), "⚠️ guests: it must be between 1 and 8.") {
		t.Errorf("shown %q; want the reason why 9 does not fit", r.Shown)
	}
	r = actiontest.Make(t, ask, actiontest.Call{Scene: scene, Parameters: `{"text":"address"}`, Chosen: []int{0}})
	if r.Text != "declinemap[]" || len(r.Asked) != 0 {
		t.Errorf("an address where others read: %q, asked %+v; want it declined", r.Text, r.Asked)
	}
	scene.Room.Kind = chat.Direct
	r = actiontest.Make(t, ask, actiontest.Call{Scene: scene, Parameters: `{"text":"address"}`, Chosen: []int{0}})
	if r.Text != "acceptmap[]" || !strings.Contains(strings.Join(r.Shown, "|"), "<https://shop.example/login?x=1>") {
		t.Errorf("an address: %q, %v, shown %q; want it shown and accepted", r.Text, r.Err, r.Shown)
	}
}

// A stopped turn cancels the call on the server, whose progress was shown.
func TestCancelAndProgress(t *testing.T) {
	s := fake(t, "good")
	mark := filepath.Join(t.TempDir(), "mark")
	s.Env["FAKE_MARK"], s.Timeout = mark, 500*time.Millisecond
	p := started(t, Options{Servers: []Server{s}})
	r := actiontest.Make(t, named(t, p, "fake__wait"), actiontest.Call{})
	if r.Err == nil || !strings.Contains(r.Err.Error(), "took too long") || !slices.Contains(r.Shown, "⏳ fake: halfway 50%") || r.Shown[len(r.Shown)-1] != "fake: halfway 50%" {
		t.Errorf("%v, shown %q", r.Err, r.Shown)
	}
	until(t, "the server hears of the end", func() bool { data, _ := os.ReadFile(mark); return string(data) == "cancelled" })
	if r := actiontest.Make(t, find(p, "fake__echo"), actiontest.Call{Parameters: `{"text":"on"}`}); r.Text != "echo on" {
		t.Errorf(`after that: %q, %v; want "echo on"`, r.Text, r.Err)
	}
}

// A server that ends, or sends 50 MB, is started again. The call that was under way is not repeated, and the model is told so.
func TestEndedServerIsStartedAgain(t *testing.T) {
	for _, fatal := range []string{"exit", "huge"} {
		t.Run(fatal, func(t *testing.T) {
			p := started(t, Options{Servers: []Server{fake(t, "good")}})
			r := actiontest.Make(t, named(t, p, "fake__"+fatal), actiontest.Call{})
			if r.Err == nil || !strings.Contains(r.Err.Error(), "do not repeat it") {
				t.Errorf("%q, %v", r.Text, r.Err)
			}
			until(t, "it works again", func() bool {
				a := find(p, "fake__echo")
				return a != nil && actiontest.Make(t, a, actiontest.Call{Parameters: `{"text":"again"}`}).Text == "echo again"
			})
		})
	}
}

// A server that is missing, silent, broken or floods costs no one but itself, and the check says what is wrong.
func TestBadServers(t *testing.T) {
	var log sim.Log
	logger := slog.New(slog.NewTextHandler(&log, nil))
	all := []Server{fake(t, "good")}
	for _, kind := range []string{"silent", "crash", "garbage", "flood", "refuse"} {
		s := fake(t, kind)
		s.Name = kind
		all = append(all, s)
	}
	all = append(all, Server{Name: "missing", Command: []string{"/no/such/program"}})
	p := started(t, Options{Servers: all, Log: logger})
	if r := actiontest.Make(t, named(t, p, "fake__echo"), actiontest.Call{Parameters: `{"text":"tea"}`}); r.Text != "echo tea" {
		t.Errorf(`%q, %v; want "echo tea"`, r.Text, r.Err)
	}
	for _, s := range all[1:] {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if line, _, err := Check(ctx, s, Options{Log: logger}, nil); err == nil {
			t.Errorf("%s: %s", s.Name, line)
		}
		cancel()
	}
	until(t, "the refusal is logged", func() bool { return strings.Contains(log.String(), "is not valid") })
	if strings.Contains(log.String(), "s3cr3t") {
		t.Errorf("a secret is logged:\n%s", log.String())
	}
}

func TestBounds(t *testing.T) {
	p := started(t, Options{Servers: []Server{fake(t, "many")}})
	named(t, p, "fake__echo")
	if n := len(p.Live()); n != maxTools {
		t.Errorf("%d tools; want %d", n, maxTools)
	}
	for in, want := range map[string]string{"read": "a__read", "read file!": "a__read_file__", strings.Repeat("x", 99): "a__xxx"} {
		got := actionName("a", in)
		if len(got) > maxName || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", in, got)
		}
	}
	if actionName("a", "b c") == actionName("a", "b_c") || actionName("a", "b c") == actionName("a", "b!c") {
		t.Error("two tools have one name")
	}
}

func TestResources(t *testing.T) {
	p := started(t, Options{Servers: []Server{fake(t, "good")}})
	named(t, p, "fake__echo")
	read := actiontest.Named(t, p, "READ_MCP_RESOURCE")
	if r := actiontest.Make(t, read, actiontest.Call{Parameters: `{"serverName":"Fake","uri":"memo://tea"}`}); r.Text != "Assam." {
		t.Errorf(`%q, %v; want "Assam."`, r.Text, r.Err)
	}
	for _, params := range []string{`{"serverName":"fake","uri":"memo://secret?x=1"}`, `{"serverName":"other","uri":"memo://tea"}`} {
		if r := actiontest.Make(t, read, actiontest.Call{Parameters: params}); r.Err == nil {
			t.Errorf("%s: %q", params, r.Text)
		}
	}
	told, err := p.Providers[0].Provide(t.Context(), action.TurnContext{})
	if err != nil || !strings.Contains(told.Text, "memo://tea") || strings.Contains(told.Text, "- tool") {
		t.Errorf(`%q, %v; want it to contain "memo://tea" and it without "- tool"`, told.Text, err)
	}
}

// In the form of the reference system all tools are called through one action, with the schema and effect of the tool itself.
func TestCallMCPTool(t *testing.T) {
	p := started(t, Options{Servers: []Server{fake(t, "good")}, XML: true})
	named(t, p, "fake__echo")
	box := require.Value(action.NewToolbox([]action.Plugin{p}, schema.Compile))(t)
	call := box.Find("CALL_MCP_TOOL").Action.(action.Delegate)
	for params, want := range map[string]string{
		`{"serverName":"fake","toolName":"echo","arguments":{"text":"tea"}}`:       `fake__echo {"text":"tea"}`,
		`{"serverName":"FAKE","toolName":"echo","arguments":"{\"text\":\"tea\"}"}`: `fake__echo {"text":"tea"}`,
		`{"serverName":"fake","toolName":"echo","arguments":""}`:                   `fake__echo {}`,
	} {
		name, inner, err := call.Delegated([]byte(params))
		if got := fmt.Sprintf("%s %s", name, inner); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", params, got, err, want)
		}
	}
	if _, _, err := call.Delegated([]byte(`{"serverName":"fake","toolName":"none"}`)); err == nil {
		t.Error("an unknown tool is called")
	}
	if !find(p, "fake__echo").Spec().Unlisted {
		t.Error("the model is told of each tool")
	}
	if told, _ := p.Providers[0].Provide(t.Context(), action.TurnContext{}); !strings.Contains(told.Text, "- tool echo: ") {
		t.Errorf(`%q; want it to contain "- tool echo: "`, told.Text)
	}
}

// A remote server gets the headers of the configuration; another one, to which it redirects, gets nothing.
func TestRemoteServerGetsHeaders(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "remote", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "hello", InputSchema: json.RawMessage(anyObject)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text1("hello"), nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	var mu sync.Mutex
	reached := 0
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { mu.Lock(); defer mu.Unlock(); reached++ }))
	defer thief.Close()
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		case r.Header.Get("Authorization") != "Bearer s3cr3t":
			http.Error(w, "no", http.StatusUnauthorized)
		case r.URL.Path == "/html":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>"))
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	defer remote.Close()
	s := Server{Name: "remote", URL: remote.URL + "/mcp", Headers: map[string]string{"Authorization": "Bearer s3cr3t"}}
	ctx, cancel := context.WithCancel(t.Context())
	p := New(Options{Servers: []Server{s}})
	var work sync.WaitGroup
	work.Go(func() { p.Work(ctx) })
	if r := actiontest.Make(t, named(t, p, "remote__hello"), actiontest.Call{}); r.Text != "hello" {
		t.Errorf(`%q, %v; want "hello"`, r.Text, r.Err)
	}
	cancel()
	work.Wait()
	for _, path := range []string{"/away", "/html"} {
		s.URL = remote.URL + path
		if line, _, err := Check(t.Context(), s, Options{}, nil); err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %s, %v", path, line, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if reached > 0 {
		t.Error("the redirect to another server was followed; want it refused")
	}
}

func TestRedact(t *testing.T) {
	c := newClient(Server{Env: map[string]string{"KEY": "s3cr3t-key"}, Headers: map[string]string{"Authorization": "Bearer s3cr3t-token"}}, Options{Log: slog.New(slog.DiscardHandler)})
	if got := c.redact("s3cr3t-key: the token s3cr3t-token of Bearer s3cr3t-token\nis wrong"); strings.Contains(got, "s3cr3t") || !strings.Contains(got, "is wrong") {
		t.Error(got)
	}
}

// No error of a check holds what the configuration keeps secret, whatever the server repeats, and also if it is not there.
func TestCheckHidesSecrets(t *testing.T) {
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var asked struct{ ID json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		user, password, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"not for %s of %s, %s, %s"}}`,
			asked.ID, r.Header.Get("X-Key"), r.URL.RawQuery, user, password)
	}))
	place := strings.TrimPrefix(remote.URL, "http://")
	s := Server{Name: "remote", URL: "http://us3r-s3cr3t:p4ss-s3cr3t@" + place + "/mcp?key=qu3ry%2Fs3cr3t", Headers: map[string]string{"X-Key": "h34der-s3cr3t"}}
	for _, state := range []string{"there", "gone"} {
		line, _, err := Check(t.Context(), s, Options{}, nil)
		if err == nil || strings.Contains(err.Error(), "s3cr3t") || state == "there" && !strings.Contains(err.Error(), "not for ***") {
			t.Errorf("%s: %q, %v", state, line, err)
		}
		remote.Close()
	}
	if line, _, err := Check(t.Context(), fake(t, "refuse"), Options{}, nil); err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("over standard input: %q, %v", line, err)
	}
}

// SE-02: what a server says of a failure names no secret of the configuration: neither to people nor to the model, in the error
// of a call, its progress, or the text of a prompt; whole or in part.
func TestFailuresHideSecrets(t *testing.T) {
	s := fake(t, "good")
	s.Env["FAKE_TOKEN"] = "s3cr3t-token-of-the-server"
	p := started(t, Options{Servers: []Server{s}})
	told := named(t, p, "fake__told")
	for parameters, want := range map[string]string{`{}`: "The key *** is not valid.", `{"text":"refuse"}`: "the key *** is not valid"} {
		r := actiontest.Make(t, told, actiontest.Call{Parameters: parameters})
		if r.Err == nil || strings.Contains(fmt.Sprint(r.Err, r.Shown), "s3cr3t") || !strings.Contains(strings.ReplaceAll(r.Err.Error(), "***…", "***"), want) {
			t.Errorf("%s: %v, shown %q", parameters, r.Err, r.Shown)
		}
	}
	scene := action.TurnContext{}
	scene.Message.Text = "/write_poem keys"
	if said, err := p.Providers[1].Provide(t.Context(), scene); err != nil || strings.Contains(said.Text, "s3cr3t") || !strings.Contains(said.Text, "the key *** is not valid") {
		t.Errorf(`%q, %v; want it without "s3cr3t" and it to contain "the key *** is not valid"`, said.Text, err)
	}
}

func TestCheck(t *testing.T) {
	line, _, err := Check(t.Context(), fake(t, "good"), Options{}, nil)
	if err != nil || !strings.Contains(line, "echo (write)") || !strings.Contains(line, "wipe (dangerous)") || !strings.HasSuffix(line, "; 1 resources") {
		t.Errorf("%q, %v", line, err)
	}
}
