package stories_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/agui"
	"parley/internal/lang"
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
		"garbage":                 {[]string{`hello`}, 1, llm.ProviderIssue.Sentence(lang.Voice{})},
		"acts and ends":           {[]string{acted, `{"type":"text","text":"Half a"}`}, 1, "Half a"},
		"acts and sends garbage":  {[]string{acted, `hello`}, 1, llm.ProviderIssue.Sentence(lang.Voice{})},
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

// An agent that ends without a word has nothing to say: the user reads no failure, and it is asked once.
func TestAgentSaysNothing(t *testing.T) {
	a := &fakeAgent{respond: func(_ agui.Input, line func(string, time.Duration)) { line(`{"type":"done"}`, 0) }}
	withAgent(t, a, nil, func(s *harness) {
		last := s.readAll(s.send(s.newConversation(), "1", "Note this"))
		if *last.FullText != "" || last.FailureKind != "" || last.NoResponse != "ignored" || len(a.asked()) != 1 {
			t.Errorf("the page shows %s after %d requests", last.Raw, len(a.asked()))
		}
	})
}

// A visitor of the page who may not approve reads the question of the agent, without the call. Without an owner who can be asked, the
// agent gets a refusal at once, and the visitor reads why.
func TestAgentApprovalForAVisitor(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := &fakeAgent{respond: func(in agui.Input, line func(string, time.Duration)) {
			if len(in.Resume) > 0 {
				line(`{"type":"text","text":"Decided: `+strings.ReplaceAll(string(in.Resume[0].Payload), `"`, "'")+`"}`, 0)
			} else {
				line(`{"type":"ask","id":"q","text":"May I book it?","approve":true,"name":"book_train","arguments":{"card":"4711"}}`, 0)
			}
			line(`{"type":"done"}`, 0)
		}}
		serveAgent(c, a)
		useAgent(c, nil)
		id := c.newConversation()
		if text := *c.readAll(c.send(id, "1", "Go")).FullText; !strings.Contains(text, "May I book it?\n\nThis needs the owner's approval") || !strings.Contains(text, "Decided: {'approved':false}") {
			t.Errorf("without an owner the page shows %q", text)
		}
		c.Say(connectortest.Ada, c.ada, "Hello") // now the owner can be asked
		c.pressIn(c.Platform.(buttonPlatform))(1)
		c.Pass(time.Minute)
		stream := c.send(id, "2", "Go")
		c.readUntil(stream, "May I book it?\n\n⏳ Waiting for the owner's approval.")
		if text := stream.Text(); strings.Contains(text, "4711") || strings.Contains(text, "book_train") {
			t.Errorf("the visitor reads %q", text)
		}
		c.waitShown(c.ada, "4711")
		c.pressIn(c.Platform.(buttonPlatform))(0)
		if text := *c.readAll(stream).FullText; !strings.Contains(text, "Decided: {'approved':true}") {
			t.Errorf("after the approval the page shows %q", text)
		}
	})
}

// A question that the agent waits with is in the messages of the conversation, in the order of a reload.
func TestAgentQuestionInTheMessages(t *testing.T) {
	withAgent(t, bookings(), nil, func(s *harness) {
		id := s.newConversation()
		stream := s.send(id, "1", "Book a train")
		s.readUntil(stream, "Which one?")
		time.Sleep(time.Minute)
		var loaded struct {
			Messages []struct {
				Text    string
				Waiting bool
				Choices *answer.Choices
			}
		}
		_, page := s.request(http.MethodGet, "/api/conversations/"+id+"/messages", "", nil)
		s.Must(json.Unmarshal([]byte(page), &loaded))
		n := len(loaded.Messages)
		if n != 2 || !loaded.Messages[1].Waiting || !strings.Contains(loaded.Messages[1].Text, "Which one?") || loaded.Messages[1].Choices == nil {
			t.Fatalf("the page shows %s", page)
		}
		if status := s.postChoice(id, loaded.Messages[1].Choices.ID, 1); status != http.StatusOK {
			t.Errorf("to choose is %d", status)
		}
		s.readAll(stream)
		if _, page = s.request(http.MethodGet, "/api/conversations/"+id+"/messages", "", nil); strings.Contains(page, "waiting") || !strings.Contains(page, "Decided: resolved") {
			t.Errorf("after the choice the page shows %s", page)
		}
	})
}

// The agent that has asked gets the decision, also after the users have switched to another agent.
func TestAgentIsResumedAfterASwitch(t *testing.T) {
	a, other := bookings(), bookings()
	withPreparedGateway(t, func(s *harness) {
		connectortest.Serve(s.T, s.listen(agentAt), a)
		connectortest.Serve(s.T, s.listen("other.test:80"), other)
		s.cfg.Models.Chat = []config.ChatModel{agentModel(nil), agentModel(func(m *config.ChatModel) { m.Name, m.URL = "other", "http://other.test/" })}
		s.cfg.Models.Large = config.Model{Provider: "http"}
	}, func(s *harness) {
		id := s.newConversation()
		stream := s.send(id, "1", "Book a train")
		s.readUntil(stream, "Which one?")
		s.readAll(s.send(id, "2", "/model other"))
		_, page := s.request(http.MethodGet, "/api/conversations/"+id+"/messages", "", nil)
		_, question, _ := strings.Cut(page, `"choices":{"id":"`)
		question, _, _ = strings.Cut(question, `"`)
		if status := s.postChoice(id, question, 1); status != http.StatusOK {
			t.Fatalf("to choose is %d: %s", status, page)
		}
		s.readAll(stream)
		if runs := a.asked(); len(runs) != 2 || len(runs[1].Resume) != 1 || len(other.asked()) > 0 {
			t.Errorf("it was asked %d times, and the other one %d times", len(runs), len(other.asked()))
		}
	})
}

// The files of an answer stay, whatever else the agent shows: statuses, one of them with a like id, and files of the run that continues it.
func TestAgentFilesStay(t *testing.T) {
	file := func(name string) string {
		return `{"type":"file","name":"` + name + `","mediaType":"text/plain","data":"aGk="}`
	}
	withAgent(t, &fakeAgent{respond: func(in agui.Input, line func(string, time.Duration)) {
		if len(in.Resume) > 0 {
			line(file("last.txt"), 0)
			line(`{"type":"text","text":"Decided."}`, 0)
		} else {
			line(file("first.txt"), 0)
			line(`{"type":"status","id":"files","text":"Reading files…"}`, 0)
			for i := range 30 {
				line(fmt.Sprintf(`{"type":"status","id":"%d","text":"Step %d"}`, i, i), 0)
			}
			line(`{"type":"ask","id":"q","text":"Which one?","options":["A","B"]}`, 0)
		}
		line(`{"type":"done"}`, 0)
	}}, nil, func(s *harness) {
		id := s.newConversation()
		stream := s.send(id, "1", "Go")
		s.Pass(5 * time.Second)
		_, page := s.request(http.MethodGet, "/api/conversations/"+id+"/messages", "", nil)
		_, question, _ := strings.Cut(page, `"choices":{"id":"`)
		question, _, _ = strings.Cut(question, `"`)
		if status := s.postChoice(id, question, 1); status != http.StatusOK {
			t.Fatalf("to choose is %d: %s", status, page)
		}
		s.readAll(stream)
		_, page = s.request(http.MethodGet, "/api/conversations/"+id+"/messages", "", nil)
		for _, want := range []string{"Decided.", "first.txt", "last.txt", "Reading files"} {
			if !strings.Contains(page, want) {
				t.Errorf("without %s, the page shows %s", want, page)
			}
		}
	})
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
		if got := withoutReason(w.Buttons(c.ada)); !slices.Equal(got, []string{"Once", "Deny"}) {
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
