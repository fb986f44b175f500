package stories_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley"
	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

const agentKey = "agent-story-0123456789abcdef"

// ownAgents returns how to start the agents of examples/, by their languages.
func ownAgents(t *testing.T) map[string][]string {
	t.Helper()
	for _, program := range []string{"python3", "node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: run tools/install.sh", err)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"agent.ts", "package.json", "package-lock.json", "tsconfig.json"} {
		data, err := os.ReadFile(filepath.Join("..", "examples", "agent-typescript", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		require.NoError(t, err)
	}
	for _, args := range [][]string{{"ci", "--ignore-scripts", "--no-audit", "--no-fund"}, {"run", "build"}} {
		npm := exec.CommandContext(t.Context(), "npm", args...)
		npm.Dir = dir
		if out, err := npm.CombinedOutput(); err != nil {
			t.Fatalf("npm %s: %v\n%s", args[0], err, out)
		}
	}
	python, err := filepath.Abs(filepath.Join("..", "examples", "agent-python", "agent.py"))
	require.NoError(t, err)
	return map[string][]string{"python": {"python3", python}, "typescript": {"node", filepath.Join(dir, "dist", "agent.js")}}
}

// ownAgent is a running agent.
type ownAgent struct {
	url  string
	kill func()
	log  sim.Log
}

func (a *ownAgent) says(what string) bool { return strings.Contains(a.log.String(), what) }

// startAgent starts an agent on a free port. changed rings when it logs something.
func startAgent(t *testing.T, command []string, changed signal) *ownAgent {
	t.Helper()
	a := &ownAgent{}
	ctx, kill := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "PORT=0", "AGENT_KEY=" + agentKey}
	c.Stderr = io.MultiWriter(&a.log, changed)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	require.NoError(t, err)
	a.kill = sync.OnceFunc(func() {
		kill()
		_ = c.Wait() // it was killed
	})
	t.Cleanup(a.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the agent does not start: %v", err)
	}
	a.url = strings.TrimSpace(line)
	return a
}

// The example agents answer on Discord, Telegram and the web, their tools are shown, /stop reaches them, and another model continues for
// them.
func TestOwnAgents(t *testing.T) {
	for language, command := range ownAgents(t) {
		for _, p := range platforms() {
			t.Run(language+" on "+p.name, func(t *testing.T) { ownAgentIn(t, p, command) })
		}
	}
}

func ownAgentIn(t *testing.T, p platform, command []string) {
	s := onSockets(t, p)
	agent := startAgent(t, command, s.changed)
	yaml := fmt.Sprintf(`
providers: {openai: {base_url: %q, api_key: %q}}
models:
  chat:
    - {name: mine, provider: http, url: %q, api_key: %q, fallback: [spare]}
    - {name: spare, provider: openai, model: %s}
`, s.provider.URL+"/v1", secretKey, agent.url, agentKey, modelfake.DefaultModel)
	unset := func(string) (string, bool) { return "", false }
	cfg, err := config.Parse("", []byte(yaml), "", unset, slices.Concat(parley.Platforms(), parley.Providers())...)
	s.Must(err)
	s.start(cfg)
	s.Say(connectortest.Ada, s.place, "Please roll")
	s.waitShown("The dice have fallen.")
	s.Say(connectortest.Ada, s.place, "Really?")
	s.waitShown("You said: Really? (1 earlier)")
	s.Say(connectortest.Ada, s.place, "Please count")
	s.waitShown("2")
	s.Say(connectortest.Ada, s.place, "/stop")
	s.waitUntil("the agent notices /stop", func() bool { return agent.says("the reader has left") })
	toolsOnTheWeb(t, "http://"+s.gateway.Addr().String())
	s.model.Queue(modelfake.Script{modelfake.Text("The spare answers.")}, modelfake.Script{modelfake.Text("The spare still answers.")})
	s.Say(connectortest.Ada, s.place, "Please fail")
	s.waitShown("The spare answers.")
	if !agent.says("failed: ") && !agent.says("can't do that") {
		t.Error("the agent did not fail")
	}
	agent.kill()
	s.Say(connectortest.Ada, s.place, "Are you there?")
	s.waitShown("The spare still answers.")
	s.provider.Close()
	s.Say(connectortest.Ada, s.place, "And now?")
	s.waitShown(llm.LocalInference.Sentence())
	if n := len(s.model.Requests()); n != 2 {
		t.Errorf("the spare model is asked %d times; want 2", n)
	}
	if strings.Contains(s.Logged.String(), agentKey) {
		t.Error("the log has the key")
	}
}

// toolsOnTheWeb reads an answer with a tool of the agent in the web chat, live and after a reload.
func toolsOnTheWeb(t *testing.T, base string) {
	t.Helper()
	b := &sim.Browser{HTTP: http.DefaultClient, Base: base}
	conversation, err := b.Open(t.Context())
	require.NoError(t, err)
	s, err := b.Send(t.Context(), conversation, "a", "Please roll")
	require.NoError(t, err)
	all, err := s.All()
	require.NoError(t, err)
	if s.Text() != "Let me roll.\n\nThe dice have fallen." {
		t.Errorf(`the page shows %q; want "Let me roll.\n\nThe dice have fallen."`, s.Text())
	}
	var stages []answer.Stage
	for _, e := range all {
		if e.Type == "tool" && e.ToolName == "roll_dice" && (len(stages) == 0 || stages[len(stages)-1] != e.Stage) {
			stages = append(stages, e.Stage)
		}
	}
	if len(stages) == 0 || stages[0] != answer.StageStart && stages[0] != answer.StageEnd || stages[len(stages)-1] != answer.StageEnd || !slices.IsSorted(order(stages)) {
		t.Errorf("the tool goes through %v", stages)
	}
	lines, err := b.Reload(t.Context(), conversation)
	if err != nil || len(lines) != 2 || len(lines[1].Tools) != 1 || !strings.Contains(string(lines[1].Tools[0]), "roll_dice") {
		t.Errorf("after a reload: %+v, %v", lines, err)
	}
}

// order is where the stages stand among all.
func order(stages []answer.Stage) (at []int) {
	for _, s := range stages {
		at = append(at, slices.Index([]answer.Stage{answer.StageStart, answer.StageStreaming, answer.StageRunning, answer.StageEnd}, s))
	}
	return at
}
