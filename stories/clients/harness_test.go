// Package clients_test lets chat clients of npm talk to a gateway: each is the published package, unchanged.
package clients_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"parley"
	"parley/config"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/gatewaytest"
	"parley/internal/local"
	"parley/internal/require"
)

// folder is the variable with the folder that the clients are installed in.
const folder = "CLIENTS_FOLDER"

// packages returns the folder with the scripts, and the packages of their lock file. They are installed once, for the first test that
// needs them.
var packages = sync.OnceValues(func() (string, error) {
	dir := os.Getenv(folder)
	files, err := filepath.Glob("*.*js*")
	if err != nil {
		return dir, err
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			return dir, err
		}
	}
	if installed := os.Getenv("CLIENTS_NODE_MODULES"); installed != "" { // saves time while one works on a script
		return dir, os.Symlink(installed, filepath.Join(dir, "node_modules"))
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	out, err := npm.CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return dir, err
})

func TestMain(m *testing.M) {
	if os.Getenv(childStore) != "" {
		runChild()
		return
	}
	dir, err := os.MkdirTemp("", "clients")
	if err == nil {
		err = os.Setenv(folder, dir)
	}
	if err != nil {
		slog.Error("there is no folder for the clients", "err", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir) // the system deletes it later otherwise
	os.Exit(code)
}

// stage is a gateway, with a model and a tool that wait until a client has shown their output.
type stage struct {
	*testing.T
	gates   chan struct{} // each value lets one go on
	away    string        // the control server of the process that started this one, or ""
	control *httptest.Server
	base    string // of the gateway
	cfg     config.Config
	kill    func() // kills the gateway and starts it again; nil if it runs in this process
	mu      sync.Mutex
	prompts []string
}

// newStage starts a gateway in this process.
func newStage(t *testing.T, edit func(*config.Config)) *stage {
	t.Helper()
	s := newControl(t)
	g, err := s.gateway(filepath.Join(t.TempDir(), "parley.db"), "127.0.0.1:0", slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})), edit)
	require.NoError(t, err)
	p := gatewaytest.Start(t.Context(), g.Run)
	t.Cleanup(func() { require.NoError(t, p.Stop()) })
	s.base = "http://" + g.Addr().String()
	return s
}

// newControl starts the control server alone: it releases a gate for each request of /release, waits at one for /wait, kills the
// gateway for /kill, and returns the prompts so far.
func newControl(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, gates: make(chan struct{})}
	s.control = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/release":
			select {
			case s.gates <- struct{}{}:
			case <-r.Context().Done():
			}
		case "/wait":
			select {
			case <-s.gates:
			case <-r.Context().Done():
			}
		case "/kill":
			s.mu.Lock()
			kill := s.kill
			s.mu.Unlock()
			kill()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(s.prompts)
	}))
	t.Cleanup(s.control.Close)
	return s
}

// gateway returns a gateway with the model and the tools of s.
func (s *stage) gateway(store, listen string, log *slog.Logger, edit func(*config.Config)) (*parley.Gateway, error) {
	cfg, err := parley.DefaultConfig(func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	cfg.Store, cfg.Web.Listen, cfg.Web.Limits = config.DSN("sqlite:"+store), listen, config.Limits{}
	if edit != nil {
		edit(&cfg)
	}
	s.cfg = cfg
	return parley.New(cfg, parley.Env{
		Models: llm.Models{Large: s, LargeVision: true}, Plugins: []action.Plugin{{Name: "clients", Actions: []action.Action{search{s}, ask{}, pay{}}}}, Log: log,
	})
}

// node runs a script with arguments: it fails by itself where a client sees something else than it should.
func (s *stage) node(script string, args ...string) {
	s.Helper()
	dir, err := packages()
	if err != nil {
		s.Fatalf("install the clients: %v; run tools/install.sh", err)
	}
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	begun := time.Now()
	defer func() { s.Logf("%s took %v", script, time.Since(begun)) }()
	c := exec.CommandContext(ctx, "node", append([]string{filepath.Join(dir, script)}, args...)...)
	c.Env = append(os.Environ(), "GATEWAY="+s.base, "CONTROL="+s.control.URL, "SITE_SECRET="+siteSecret, "OWNER_TOKEN="+local.Token(s.cfg, s.base))
	out, err := c.CombinedOutput()
	if err != nil {
		s.Fatalf("%s %q: %v\n%s", script, args, err, out)
	}
	s.checkTable(string(out))
}

// checkTable compares the abilities of a script's clients with the table of docs/clients.md.
func (s *stage) checkTable(out string) {
	s.Helper()
	guide := require.Value(os.ReadFile(filepath.Join("..", "..", "docs", "clients.md")))(s)
	can := map[string]map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^CELL (\S+) (\S+)$`).FindAllStringSubmatch(out, -1) {
		if can[found[1]] == nil {
			can[found[1]] = map[string]bool{}
		}
		can[found[1]][found[2]] = true
	}
	for client, cells := range can {
		want := "| " + labels[client] + " |"
		for _, column := range columns {
			if cells[column] {
				want += " ✓ |"
			} else {
				want += " –" + reasons[client+" "+column] + " |"
			}
		}
		if labels[client] == "" || !strings.Contains(string(guide), want+"\n") {
			s.Errorf("docs/clients.md lacks this row of %s:\n%s", client, want)
		}
	}
}

// columns are those of the table in docs/clients.md, labels the names of its rows, and reasons the notes about its empty cells.
var (
	reasons = map[string]string{
		"deepchat resume": "¹", "deepchat-json resume": "¹", "deepchat approvals": "²", "deepchat-json approvals": "²",
		"deepchat-json stream": "³", "deepchat-json tools": "³",
	}
	columns = []string{"send", "stream", "tools", "files", "stop", "resume", "choices", "approvals", "history"}
	labels  = map[string]string{
		"openai":            "`openai` 7.57.0, chat completions",
		"openai-responses":  "`openai` 7.57.0, responses",
		"openai-compatible": "`@ai-sdk/openai-compatible` 3.0.92",
		"ai5":               "`ai` 5.0.277 (`useChat`)",
		"ai6":               "`ai` 6.0.326 (`useChat`)",
		"ai7":               "`ai` 7.0.173 (`useChat`)",
		"assistant-ui":      "`@assistant-ui/react-ai-sdk` 1.4.12",
		"agui1":             "`@ag-ui/client` 1.0.0",
		"agui0":             "`@ag-ui/client` 0.0.59",
		"copilotkit":        "`@copilotkit/core` 1.75.0",
		"deepchat":          "`deep-chat` 2.4.2, stream",
		"deepchat-json":     "`deep-chat` 2.4.2, JSON",
	}
)

// wait waits at a gate.
func (s *stage) wait(ctx context.Context) error {
	if s.away != "" {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.away+"/wait", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	select {
	case <-s.gates:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Generate implements [llm.Model]. The last message decides the answer.
func (s *stage) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	last := req.Messages[len(req.Messages)-1]
	s.mu.Lock()
	all := ""
	for _, m := range req.Messages {
		all += string(m.Role) + ": " + m.Text + "\n"
	}
	s.prompts = append(s.prompts, all)
	s.mu.Unlock()
	return func(yield func(llm.Chunk, error) bool) {
		var parts []llm.Chunk
		switch said := last.Text; {
		case last.Role == llm.RoleTool:
			parts = []llm.Chunk{{Text: "It is: " + last.Text}}
		case strings.Contains(said, "tell me"):
			parts = []llm.Chunk{{Text: "One "}, {}, {Text: "two "}, {}, {Text: "three "}, {}, {Text: "four."}} // {} is a gate
		case strings.Contains(said, "search"):
			parts = []llm.Chunk{{Text: "I look it up."}, call("SEARCH", `{"q":"tea"}`)}
		case strings.Contains(said, "ask me"):
			parts = []llm.Chunk{call("ASK", `{}`)}
		case strings.Contains(said, "pay now"):
			parts = []llm.Chunk{call("PAY", `{"euro":5}`)}
		case len(last.Images) > 0:
			parts = []llm.Chunk{{Text: "You sent " + last.Images[0].Type + "."}}
		default:
			paragraphs := strings.Split(said, "\n\n")
			parts = []llm.Chunk{{Text: "You said: " + paragraphs[0]}}
		}
		for _, c := range parts {
			if c.Text == "" && c.Call == nil {
				if err := s.wait(ctx); err != nil {
					yield(llm.Chunk{}, err)
					return
				}
			} else if !yield(c, nil) {
				return
			}
		}
		yield(llm.Chunk{Finish: llm.FinishStop}, nil)
	}
}

// call is a call of a tool.
func call(name, params string) llm.Chunk {
	return llm.Chunk{Call: &llm.CallDelta{ID: "c1", Name: name, Parameters: params}}
}

// search is a tool that shows two states, and waits after each until a client has shown it.
type search struct{ *stage }

func (search) Spec() action.Spec {
	return action.Spec{Name: "SEARCH", Label: "Web search", Description: "Searches.", Effect: action.Reads,
		Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)}
}

func (s search) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	for _, line := range []string{"Searching the web…", "Reading 3 pages…"} {
		c.Update(line)
		if err := s.wait(ctx); err != nil {
			return action.Result{}, err
		}
	}
	c.Update("Read 3 pages.")
	return action.Result{Text: "green tea", Short: "3 pages"}, nil
}

// ask is a tool that asks the user.
type ask struct{}

func (ask) Spec() action.Spec {
	return action.Spec{Name: "ASK", Label: "Question", Description: "Asks.", Effect: action.Reads, Limit: time.Minute}
}

func (ask) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	q, err := c.Choose(ctx, "Which color?", chat.Question{Options: []string{"Red", "Blue"}, For: []chat.EntityID{c.Turn.Message.Author}})
	if err != nil {
		return action.Result{}, err
	}
	c.Update("Chosen.")
	return action.Result{Text: q.Options[q.Choice]}, nil
}

// pay is a tool that needs the approval of the owner for each call.
type pay struct{}

func (pay) Spec() action.Spec {
	return action.Spec{Name: "PAY", Label: "Payment", Description: "Pays.", Effect: action.Dangerous,
		Parameters: json.RawMessage(`{"type":"object","properties":{"euro":{"type":"number"}}}`)}
}

func (pay) Guard(*action.Call) *action.Approval {
	return &action.Approval{Server: "bank", Tool: "PAY", Shown: "Pay 5 euros."}
}

func (pay) Act(context.Context, *action.Call) (action.Result, error) {
	return action.Result{Text: "paid"}, nil
}
