package stories_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord/discordfake"
	"parley/internal/golden"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// npmServers installs the MCP servers that testdata/mcp pins, without running anything of theirs, and returns their configuration.
// folder is what the one for files may touch.
func npmServers(t *testing.T, folder string) []config.MCPServer {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Fatalf("%v: run tools/install.sh", err)
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", "mcp", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		require.NoError(t, err)
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	program := func(name string) string {
		return filepath.Join(dir, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	}
	return []config.MCPServer{{
		Name: "files", Command: []string{"node", program("server-filesystem"), folder}, Who: config.ToolsEveryone, Timeout: time.Minute, Memory: 2048, CPU: time.Hour,
		Tools: config.MCPTools{Read: []string{"read_text_file"}},
	}, {
		Name: "everything", Command: []string{"node", program("server-everything")}, Who: config.ToolsEveryone, Timeout: time.Minute, Memory: 2048, CPU: time.Hour,
		Tools: config.MCPTools{Read: []string{"echo", "get-sum", "get-tiny-image", "get-env", "trigger-long-running-operation"}, Deny: []string{"simulate-research-query"}},
	}}
}

// TestRealServers drives MCP servers from npm through the whole gateway: on Discord and Telegram, where the owner approves what writes,
// and on the web, where no one can.
func TestRealServers(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tea.txt"), []byte("Assam is in stock."), 0o600))
	servers := npmServers(t, folder)
	t.Setenv("OPENAI_TOKEN_OF_THE_TEST", "must-not-be-seen")
	for _, p := range platforms() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			realServersIn(t, p, servers, folder)
		})
	}
}

func realServersIn(t *testing.T, p platform, servers []config.MCPServer, folder string) {
	r := mcpServers{onSockets(t, p)}
	cfg := r.config()
	cfg.MCP = servers
	r.start(cfg)
	r.waitUntil("both servers are connected", func() bool { return strings.Count(r.Logged.String(), "an MCP server is connected") == 2 })
	r.onPlatform(folder, p.name)
	r.onTheWeb("http://"+r.gateway.Addr().String(), folder, p.name)
}

// mcpServers is a gateway with MCP servers from npm.
type mcpServers struct{ *sockets }

func (r mcpServers) script(tool, params, text string) {
	r.model.Queue(modelfake.Script{modelfake.ToolCall("c", tool, params)}, modelfake.Script{modelfake.Text(text)})
}

// lastPromptText is the newest question to the model.
func (r mcpServers) lastPromptText() string {
	all := r.model.Requests()
	return string(all[len(all)-1].Raw)
}

// waitAsked waits until Ada is asked whether to make a call.
func (r mcpServers) waitAsked() {
	r.Helper()
	r.waitUntil("Ada is asked", func() bool { return len(r.Platform.(buttonPlatform).Buttons(r.place)) >= 2 }) // on Discord, also Deny with a reason
}

// approve presses the first button.
func (r mcpServers) approve() {
	r.Helper()
	r.waitAsked()
	r.Platform.(buttonPlatform).Press(connectortest.Ada, r.place, 0)
}

func (r mcpServers) onPlatform(folder, name string) {
	r.script("files__read_text_file", `{"path":"`+filepath.Join(folder, "tea.txt")+`"}`, "There is Assam.")
	r.Say(connectortest.Ada, r.place, "Which tea is there?")
	r.waitShown("There is Assam.")
	if !strings.Contains(r.lastPromptText(), "Assam is in stock.") {
		r.Errorf(`the model is told %s; want it to contain "Assam is in stock."`, r.lastPromptText())
	}
	written := filepath.Join(folder, name+".txt")
	r.script("files__write_file", `{"path":"`+written+`","content":"milk"}`, "It is written down.")
	r.Say(connectortest.Ada, r.place, "Note that milk is missing")
	r.waitShown("write_file")
	r.waitAsked()
	if _, err := os.Stat(written); err == nil {
		r.Error("the file was written without an approval")
	}
	r.approve()
	r.waitShown("It is written down.")
	if data, _ := os.ReadFile(written); string(data) != "milk" {
		r.Errorf("the file holds %q", data)
	}
	r.script("everything__get-tiny-image", `{}`, "That is all I have.")
	r.Say(connectortest.Ada, r.place, "Show me a picture")
	r.waitShown("That is all I have.")
	r.script("everything__get-env", `{}`, "That is my environment.")
	r.Say(connectortest.Ada, r.place, "What do you see?")
	r.waitShown("That is my environment.")
	if strings.Contains(r.lastPromptText(), "must-not-be-seen") || !strings.Contains(r.lastPromptText(), "PATH") {
		r.Errorf(`the server sees %s; want it without "must-not-be-seen" and it to contain "PATH"`, r.lastPromptText())
	}
	r.model.Queue(modelfake.Script{modelfake.Text("It rains there.")})
	r.Say(connectortest.Ada, r.place, "/args_prompt Oslo")
	r.waitShown("It rains there.")
	if !strings.Contains(r.lastPromptText(), "weather in Oslo?") {
		r.Errorf(`the model is told %s; want it to contain "weather in Oslo?"`, r.lastPromptText())
	}
	r.Say(connectortest.Ada, r.place, "/help")
	r.waitShown("/args_prompt city [state]")
}

// onTheWeb has a visitor of the web chat ask, and the owner approve on the platform.
func (r mcpServers) onTheWeb(base, folder, name string) {
	b := &sim.Browser{HTTP: http.DefaultClient, Base: base}
	conversation := require.Value(b.Open(r.Context()))(r)
	r.script("everything__get-sum", `{"a":19,"b":23}`, "It is 42.")
	s := require.Value(b.Send(r.Context(), conversation, "a", "What is 19 + 23?"))(r)
	if _, err := s.All(); err != nil || !strings.Contains(s.Text(), "It is 42.") || !strings.Contains(r.lastPromptText(), "The sum of 19 and 23 is 42") {
		r.Errorf(`%q, %v; the model is told %s; want it to contain "It is 42." and it to contain "The sum of 19 and 23 is 42"`, s.Text(), err, r.lastPromptText())
	}
	visited := filepath.Join(folder, name+"-web.txt")
	r.script("files__write_file", `{"path":"`+visited+`","content":"ham"}`, "Noted for you.")
	s = require.Value(b.Send(r.Context(), conversation, "b", "Note that ham is missing"))(r)
	r.approve()
	if _, err := s.All(); err != nil || !strings.Contains(s.Text(), "Noted for you.") {
		r.Errorf(`%q, %v; want it to contain "Noted for you."`, s.Text(), err)
	}
	if data, _ := os.ReadFile(visited); string(data) != "ham" {
		r.Errorf("the file holds %q", data)
	}
}

// What discord.js sees of a run of the bot: its answers in direct messages, in the server and in a thread, with their buttons.
func TestDiscordJSDescribesTheBot(t *testing.T) {
	dir := connectortest.NPM(t, os.DirFS(filepath.Join("..", "connectors", "discord", "discordfake", "testdata", "npm")))
	p := platforms()[1]
	p.newServer = func() (connectortest.Platform, error) {
		return discordworld.NewWith(discordfake.WithIdentifyLimit(1000, 16), discordfake.WithShards(1), discordfake.WithAnswerTime(time.Minute))
	}
	r := onSockets(t, p)
	w := r.Platform.(*discordworld.Platform)
	printed := connectortest.Node(t, dir, func(string) {
		cfg := r.config()
		cfg.Turns.Buttons = true
		r.start(cfg)
		r.model.Queue(modelfake.Script{modelfake.Text("Hello **Ada**, see https://tea.example/green.")})
		r.Say(connectortest.Ada, r.place, "Hello bot")
		r.waitShown("Hello **Ada**")
		r.model.Queue(modelfake.Script{modelfake.Text("| Tea | Price |\n|---|---|\n| Assam | 3 |\n\n||a secret||")})
		r.Mention(connectortest.Ada, r.Group(), "Which tea?")
		r.waitUntil("the answer is complete", func() bool { return slices.Equal(w.Buttons(r.Group()), []string{"Retry"}) })
		r.stop()
		w.Say(connectortest.Eve, r.Group(), "over")
	}, "watch.mjs", r.url+"/api", w.Fake.Token())
	golden.Check(t, "testdata/discord/discord-js.txt", printed)
}
