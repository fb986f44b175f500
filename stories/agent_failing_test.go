package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/llm"
	"parley/internal/agui"
)

// An agent fails in every way: the user reads one sentence, and a run that may have acted is not asked for again.
func TestAgentFails(t *testing.T) {
	const acted = `{"type":"tool","id":"t","name":"send"}`
	for name, c := range map[string]struct {
		lines []string
		runs  int
		says  string
	}{
		"ends in mid-text":        {[]string{`{"type":"text","text":"Half a"}`}, 1, "Half a"},
		"garbage":                 {[]string{`hello`}, 3, llm.ProviderIssue.Sentence()},
		"acts and ends":           {[]string{acted, `{"type":"text","text":"Half a"}`}, 1, "Half a"},
		"acts and sends garbage":  {[]string{acted, `hello`}, 1, llm.ProviderIssue.Sentence()},
		"an unknown line, a twin": {[]string{`{"type":"new"}`, acted, acted, `{"type":"text","text":"Well."}`, `{"type":"done"}`}, 1, "Well."},
		"a gigabyte":              {append(slices.Repeat([]string{`{"type":"status","id":"s","text":"` + strings.Repeat("x", 1<<20) + `"}`}, 70), `{"type":"done"}`), 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := &fakeAgent{respond: func(_ agui.Input, line func(string, time.Duration)) {
				for _, l := range c.lines {
					line(l, 0)
				}
			}}
			withAgent(t, a, nil, func(s *harness) {
				last := s.readAll(s.send(s.newConversation(), "1", "Go"))
				if got := *last.FullText; !strings.Contains(got, c.says) || c.says == "" && last.FailureKind == "" {
					t.Errorf("people read %q; want %q", got, c.says)
				}
				if n := len(a.asked()); n != c.runs {
					t.Errorf("the agent was asked %d times; want %d", n, c.runs)
				}
			})
		})
	}
}

// A decision reaches an agent that does not know the question any more: the user reads that, and nothing is asked again.
func TestAgentForgetsItsQuestion(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := &fakeAgent{respond: func(in agui.Input, line func(string, time.Duration)) {
			if len(in.Resume) > 0 {
				line(`{"type":"error","code":"unknown_ask","message":"which question?"}`, 0)
				return
			}
			line(`{"type":"ask","id":"q","text":"Which one?","options":["A","B"]}`, 0)
			line(`{"type":"done"}`, 0)
		}}
		serveAgent(c, a)
		useAgent(c, nil)
		c.Say(connectortest.Ada, c.ada, "Go")
		c.pressIn(c.Platform.(buttonPlatform))(0)
		c.waitShown(c.ada, "no longer knows this question")
		c.Pass(time.Minute)
		if n := len(a.asked()); n != 2 {
			t.Errorf("the agent was asked %d times", n)
		}
	})
}

// A process is killed right after it has sent a decision: the next one does not send it again.
func TestAgentIsResumedOnce(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := &fakeAgent{}
		a.respond = func(in agui.Input, line func(string, time.Duration)) {
			if len(in.Resume) > 0 {
				line(`{"type":"working"}`, time.Hour)
				return
			}
			line(`{"type":"ask","id":"q","text":"Which one?","options":["A","B"]}`, 0)
			line(`{"type":"done"}`, 0)
		}
		serveAgent(c, a)
		useAgent(c, nil)
		c.Say(connectortest.Ada, c.ada, "Go")
		c.pressIn(c.Platform.(buttonPlatform))(0)
		c.Pass(5 * time.Second)
		c.crash()
		c.net.Cut(agentAt)
		c.start()
		c.waitShown(c.ada, "Interrupted by a restart")
		c.Pass(time.Minute)
		if n := len(a.asked()); n != 2 {
			t.Errorf("the agent was asked %d times", n)
		}
	})
}

// A call of the agent's own tool that needs an approval is approved like any other, and files of the question reach the agent if the owner allows.
func TestAgentApprovalAndFiles(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := &fakeAgent{respond: func(in agui.Input, line func(string, time.Duration)) {
			if len(in.Resume) > 0 {
				line(`{"type":"text","text":"Decided: `+strings.ReplaceAll(string(in.Resume[0].Payload), `"`, "'")+`"}`, 0)
			} else {
				line(`{"type":"ask","id":"q","text":"Send it to everyone?","approve":true,"name":"send_mail","arguments":{"to":"all"}}`, 0)
			}
			line(`{"type":"done"}`, 0)
		}}
		serveAgent(c, a)
		useAgent(c, func(m *config.ChatModel) { m.Share = []config.AgentShare{"files", "platform"} })
		w := c.Platform.(buttonPlatform)
		c.SendFile(connectortest.Ada, c.ada, "Send this", connectortest.File{Name: "plan.md", Type: "text/markdown", Data: []byte("Buy tea.")})
		c.waitShown(c.ada, "send_mail")
		c.Pass(5 * time.Second)
		if got := w.Buttons(c.ada); !slices.Equal(got, []string{"Once", "Deny"}) {
			t.Errorf("buttons %q", got)
		}
		c.pressIn(w)(0)
		c.waitShown(c.ada, "Decided: {'approved':true}")
		runs := a.asked()
		if content := string(runs[0].Messages[len(runs[0].Messages)-1].Content); !strings.Contains(content, `"filename":"plan.md"`) || !strings.Contains(content, "QnV5IHRlYS4=") {
			t.Errorf("the agent got %s", content)
		}
		if props := string(runs[0].Forwarded); !strings.Contains(props, `"platform":"`+c.name) || strings.Contains(props, "Ada") || !strings.Contains(props, `"id":"`) {
			t.Errorf("the agent knows %s", props)
		}
	})
}
