package stories_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	"parley/internal/lang"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

const agentKey = "agent-story-0123456789abcdef"

// ownAgents returns how to start the agents of examples/, by their languages.
func ownAgents(t *testing.T) map[string][]string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatalf("%v: run tools/install.sh", err)
	}
	python := require.Value(filepath.Abs(filepath.Join("..", "examples", "agent-python", "agent.py")))(t)
	return map[string][]string{"python": {"python3", python}, "typescript": {"node", filepath.Join(builtExample(t, "agent-typescript", "agent.ts"), "dist", "agent.js")}}
}

// builtExample copies an example in TypeScript, builds it, and returns its folder.
func builtExample(t *testing.T, example string, sources ...string) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: run tools/install.sh", err)
		}
	}
	dir := t.TempDir()
	for _, name := range append(sources, "package.json", "package-lock.json", "tsconfig.json") {
		data, err := os.ReadFile(filepath.Join("..", "examples", example, name))
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
	return dir
}

// ownAgent is a running agent.
type ownAgent struct {
	url  string
	kill func()
	log  sim.Log
}

func (a *ownAgent) says(what string) bool { return strings.Contains(a.log.String(), what) }

// startAgent starts an agent on a free port, or on that of at. changed rings when it logs something.
func startAgent(t *testing.T, command []string, changed signal, at string, env ...string) *ownAgent {
	t.Helper()
	a := &ownAgent{}
	ctx, kill := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	port := "0"
	if u, err := url.Parse(at); err == nil && at != "" {
		port = u.Port()
	}
	c.Env = append(env, "PATH="+os.Getenv("PATH"), "PORT="+port, "AGENT_KEY="+agentKey)
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
	agent := startAgent(t, command, s.changed, "")
	cfg := s.ownConfig(fmt.Sprintf(`
providers: {openai: {base_url: %q, api_key: %q}}
models:
  chat:
    - {name: mine, provider: http, url: %q, api_key: %q, fallback: [spare]}
    - {name: spare, provider: openai, model: %s}
`, s.provider.URL+"/v1", secretKey, agent.url, agentKey, modelfake.DefaultModel))
	s.start(cfg)
	s.Say(connectortest.Ada, s.place, "Please roll")
	s.waitShown("The dice have fallen.")
	s.Say(connectortest.Ada, s.place, "Really?")
	s.waitShown("You said: Really? (1 earlier)")
	s.Say(connectortest.Ada, s.place, "Please count")
	s.waitShown("2")
	s.Say(connectortest.Ada, s.place, "/stop")
	s.waitUntil("the agent notices /stop", func() bool { return agent.says("the reader has left") })
	s.Say(connectortest.Ada, s.place, "Please book")
	agent = s.askedOverRestart(cfg, agent, command)
	s.waitShown("The train at 09:30 is booked.")
	s.waitUntil("Ada has the ticket", func() bool { return s.hasFile("Ticket for the train at 09:30") })
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
	s.waitShown(llm.LocalInference.Sentence(lang.Voice{}))
	if n := len(s.model.Requests()); n != 2 {
		t.Errorf("the spare model is asked %d times; want 2", n)
	}
	if strings.Contains(s.Logged.String(), agentKey) {
		t.Error("the log has the key")
	}
}

// askedOverRestart waits for the question of the agent, stops it and the gateway, starts both, and chooses the second option.
func (s *sockets) askedOverRestart(cfg config.Config, agent *ownAgent, command []string, env ...string) *ownAgent {
	s.Helper()
	s.waitShown("Which train?")
	w := s.Platform.(buttonPlatform)
	s.waitUntil("there are buttons, and the run waits", func() bool {
		return len(w.Buttons(s.place)) == 2 && strings.Contains(s.Logged.String(), "a run waits for a person")
	})
	if !strings.Contains(strings.Join(connectortest.BotTexts(s, s.place), "\n"), "Found 2 trains") {
		s.Errorf("the status is %q", connectortest.BotTexts(s, s.place))
	}
	agent.kill()
	s.stop()
	agent = startAgent(s.T, command, s.changed, agent.url, env...)
	s.start(cfg)
	w.Press(connectortest.Ada, s.place, 1)
	return agent
}

// hasFile reports whether a file with that content is shown.
func (s *sockets) hasFile(content string) bool {
	return slices.ContainsFunc(s.Messages(s.place), func(m connectortest.Message) bool {
		return slices.ContainsFunc(m.Files, func(f connectortest.File) bool { return strings.Contains(string(f.Data), content) })
	})
}

// A route of the AI SDK, as its documentation has it, is an agent on Discord: its data changes a status, it asks with a tool, both
// processes are stopped, and a press continues the same conversation of the route once.
func TestAISDKRoute(t *testing.T) {
	command := []string{"node", filepath.Join(builtExample(t, "agent-ai-sdk", "route.ts", "server.ts"), "dist", "server.js")}
	s := onSockets(t, platforms()[1])
	env := []string{"MODEL_URL=" + s.provider.URL + "/v1", "MODEL_KEY=" + secretKey, "MODEL=" + modelfake.DefaultModel}
	agent := startAgent(t, command, s.changed, "", env...)
	cfg := s.ownConfig(fmt.Sprintf("models: {chat: [{name: mine, provider: http, url: %q, api_key: %q, protocol: ai-sdk}]}", agent.url+"/api/chat", agentKey))
	s.start(cfg)
	s.model.Queue(
		modelfake.Script{modelfake.ToolCall("c1", "find_trains", `{"city":"Berlin"}`)},
		modelfake.Script{modelfake.ToolCall("c2", "ask_user", `{"question":"Which train?","options":["08:00","09:30"]}`)},
		modelfake.Script{modelfake.ToolCall("c3", "book_train", `{"train":"09:30"}`)},
		modelfake.Script{modelfake.Text("It is booked.")},
	)
	s.Say(connectortest.Ada, s.place, "A train to Berlin")
	s.askedOverRestart(cfg, agent, command, env...)
	s.waitShown("It is booked.")
	s.waitUntil("Ada has the ticket", func() bool { return s.hasFile("Ticket for the train at 09:30") })
	if requests := s.model.Requests(); len(requests) != 4 || !strings.Contains(string(requests[2].Raw), "09:30") {
		t.Errorf("the model of the agent is asked %d times", len(requests))
	}
}

// A graph of LangGraph is an agent on Telegram: a status that changes, its tools, an interrupt that a press resumes after both processes
// were stopped, and a file. Its thread is that of the chat.
func TestLangGraph(t *testing.T) {
	command := []string{"node", filepath.Join(builtExample(t, "agent-langgraph", "agent.ts"), "dist", "agent.js")}
	s := onSockets(t, platforms()[0])
	env := []string{"CHECKPOINTS=" + filepath.Join(t.TempDir(), "checkpoints.bin")}
	agent := startAgent(t, command, s.changed, "", env...)
	cfg := s.ownConfig(fmt.Sprintf("models: {chat: [{name: mine, provider: http, url: %q, api_key: %q, history: last}]}", agent.url, agentKey))
	s.start(cfg)
	s.Say(connectortest.Ada, s.place, "Please book")
	s.askedOverRestart(cfg, agent, command, env...)
	s.waitShown("The train at 09:30 is booked.")
	s.waitUntil("Ada has the ticket", func() bool { return s.hasFile("Ticket for the train at 09:30") })
	s.Say(connectortest.Ada, s.place, "Thanks")
	s.waitShown("You said: Thanks")
}

// ownConfig reads a configuration as users write it.
func (s *sockets) ownConfig(yaml string) config.Config {
	s.Helper()
	unset := func(string) (string, bool) { return "", false }
	cfg := require.Value(config.Parse("", []byte(yaml), "", unset, slices.Concat(parley.Platforms(), parley.Providers())...))(s)
	cfg.Turns.Buttons = false // as in config
	return cfg
}

// toolsOnTheWeb reads an answer with a tool of the agent in the web chat, live and after a reload.
func toolsOnTheWeb(t *testing.T, base string) {
	t.Helper()
	b := &sim.Browser{HTTP: http.DefaultClient, Base: base}
	conversation := require.Value(b.Open(t.Context()))(t)
	s := require.Value(b.Send(t.Context(), conversation, "a", "Please roll"))(t)
	all := require.Value(s.All())(t)
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
