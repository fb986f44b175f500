package stories_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/internal/agui"
	"parley/internal/require"
)

const agentAt = "agent.test:80"

// fakeAgent is an agent behind an address, in lines of JSON. Its memory is in runs: what survives it.
type fakeAgent struct {
	mu      sync.Mutex
	runs    []agui.Input
	left    []string                                              // runs whose reader has left before their end
	respond func(in agui.Input, line func(string, time.Duration)) // line is false once the reader has left
}

func (a *fakeAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	var in agui.Input
	if err == nil {
		err = json.Unmarshal(data, &in)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	a.runs = append(a.runs, in)
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-ndjson")
	a.respond(in, func(l string, pause time.Duration) {
		_, _ = io.WriteString(w, l+"\n") // the reader can have left
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
		}
	})
	if r.Context().Err() != nil {
		a.mu.Lock()
		a.left = append(a.left, in.RunID)
		a.mu.Unlock()
	}
}

// asked returns the runs that the agent was asked for.
func (a *fakeAgent) asked() []agui.Input {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.runs)
}

// serveAgent starts a, and returns a function that kills it.
func serveAgent(c *chatHarness, a *fakeAgent) (kill func()) {
	c.Helper()
	web := &http.Server{Handler: a}
	l := c.listen(agentAt)
	go func() { _ = web.Serve(l) }()
	kill = func() { _ = web.Close() }
	c.Cleanup(kill)
	return kill
}

// useAgent lets an agent answer, which Ada owns.
func useAgent(c *chatHarness, edit func(*config.ChatModel)) {
	c.Helper()
	c.shutdown()
	c.cfg.Models.Chat = []config.ChatModel{agentModel(edit)}
	c.cfg.Models.Large = config.Model{Provider: "http"}
	c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
	c.start()
	c.Pass(10 * time.Second)
}

// agentModel is the agent in the configuration.
func agentModel(edit func(*config.ChatModel)) config.ChatModel {
	m := config.ChatModel{Name: "mine", Provider: "http", URL: "http://agent.test/", Protocol: "ag-ui", History: "full", Thinking: "status"}
	if edit != nil {
		edit(&m)
	}
	return m
}

// bookings is an agent that asks before it books. It continues a booking once, and knows those before a restart.
func bookings() *fakeAgent {
	return &fakeAgent{respond: func(in agui.Input, line func(string, time.Duration)) {
		switch {
		case len(in.Resume) > 0:
			line(`{"type":"status","id":"s","text":"✨ Booking…"}`, 3*time.Second)
			line(`{"type":"status","id":"s","text":""}`, 0)
			line(`{"type":"text","text":"Decided: `+in.Resume[0].Status+" "+strings.ReplaceAll(string(in.Resume[0].Payload), `"`, "'")+`."}`, 0)
		case strings.Contains(string(in.Messages[len(in.Messages)-1].Content), "Book"):
			line(`{"type":"status","id":"s","text":"✨ Looking…"}`, 3*time.Second)
			line(`{"type":"tool","id":"t","name":"find","arguments":{"q":"train"}}`, 0)
			line(`{"type":"result","id":"t","text":"2"}`, 0)
			line(`{"type":"text","text":"I found two trains."}`, 0)
			line(`{"type":"status","id":"s","text":"✨ Found 2"}`, 3*time.Second)
			line(`{"type":"ask","id":"which","text":"Which one?","options":["08:00","09:30"]}`, 0)
		default:
			line(`{"type":"text","text":"Thread `+in.ThreadID[:4]+`."}`, 0)
		}
		line(`{"type":"done"}`, 0)
	}}
}

// An agent pauses at a question. Both processes are killed, a press resumes the same run of the agent once, and no new run begins.
func TestAgentAsks(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := bookings()
		kill := serveAgent(c, a)
		useAgent(c, nil)
		w := c.Platform.(buttonPlatform)
		c.Say(connectortest.Ada, c.ada, "Book a train")
		c.waitShown(c.ada, "Which one?")
		c.Pass(5 * time.Second)
		if got := w.Buttons(c.ada); !slices.Equal(got, []string{"08:00", "09:30"}) {
			t.Fatalf("buttons %q\n%s", got, c.Logged.String())
		}
		c.crash()
		kill()
		a = bookings()
		serveAgent(c, a)
		c.start()
		c.Pass(20 * time.Second)
		w.Press(connectortest.Ada, c.ada, 1)
		w.Press(connectortest.Ada, c.ada, 1)
		c.waitShown(c.ada, "Decided: resolved '09:30'.")
		c.Pass(time.Minute)
		runs := a.asked()
		if len(runs) != 1 || len(runs[0].Resume) != 1 || runs[0].Resume[0].InterruptID != "which" || runs[0].ParentRunID == "" {
			t.Errorf("the agent was asked for %+v", runs)
		}
		want := "I found two trains.\n\nWhich one?\n\n→ 09:30\n\nDecided: resolved '09:30'."
		if got := strings.ReplaceAll(strings.Join(connectortest.BotTexts(c, c.ada), "\n\n"), "*", ""); got != want {
			t.Errorf("people read %q, want %q", got, want)
		}
	})
}

// A status changes in place, in one message, and the text above it stays. The transcript is that of each platform.
func TestAgentStatus(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := &fakeAgent{respond: func(_ agui.Input, line func(string, time.Duration)) {
			line(`{"type":"status","id":"s","text":"✨ Looking…"}`, 4*time.Second)
			line(`{"type":"text","text":"I am on it."}`, 4*time.Second)
			line(`{"type":"status","id":"s","text":"✨ Two of three"}`, 4*time.Second)
			line(`{"type":"text","text":" All is well."}`, 4*time.Second)
			line(`{"type":"status","id":"s","text":"✨ Done"}`, 4*time.Second)
			line(`{"type":"done"}`, 0)
		}}
		serveAgent(c, a)
		useAgent(c, nil)
		c.Say(connectortest.Ada, c.ada, "Go")
		c.waitShown(c.ada, "✨ Done")
		c.WaitIdle()
		messages := slices.DeleteFunc(c.Messages(c.ada), func(m connectortest.Message) bool { return !m.ByBot })
		if len(messages) != 1 {
			t.Fatalf("%d messages", len(messages))
		}
		var got []string
		for _, v := range messages[0].Versions {
			got = append(got, strings.TrimSpace(v.Text))
		}
		want := []string{"✨ Looking…", "I am on it.\n\n✨ Looking…", "I am on it.\n\n✨ Two of three", "I am on it. All is well.\n\n✨ Two of three", "I am on it. All is well.\n\n✨ Done"}
		if !slices.Equal(slices.Compact(got), want) {
			t.Errorf("people read %q, want %q", got, want)
		}
	})
}

// The same on the page: each frame of text leaves the reader with the whole answer so far.
func TestAgentStatusOnTheWeb(t *testing.T) {
	withAgent(t, &fakeAgent{respond: func(_ agui.Input, line func(string, time.Duration)) {
		line(`{"type":"status","id":"s","text":"Looking…"}`, time.Second)
		line(`{"type":"text","text":"I am on it."}`, time.Second)
		line(`{"type":"status","id":"s","text":"Done"}`, time.Second)
		line(`{"type":"file","name":"a.txt","mediaType":"text/plain","data":"aGk="}`, time.Second)
		line(`{"type":"done"}`, 0)
	}}, nil, func(s *harness) {
		frames := require.Value(s.send(s.newConversation(), "1", "Go").All())(s)
		var shown []string
		for _, f := range frames {
			if f.FullText != nil {
				shown = append(shown, *f.FullText)
			}
		}
		want := []string{"I am on it.\n\nLooking…", "I am on it.\n\nDone"}
		if got := slices.Compact(shown); !slices.Equal(got, want) && !slices.Equal(got[1:], want) {
			t.Errorf("the page shows %q", shown)
		}
		if last := frames[len(frames)-2].Raw + frames[len(frames)-1].Raw; !strings.Contains(strings.Join([]string{last}, ""), "done") {
			t.Errorf("%s", last)
		}
	})
}

// withAgent runs a test of a gateway whose agent answers on the web.
func withAgent(t *testing.T, a *fakeAgent, edit func(*config.ChatModel), play func(*harness)) {
	t.Helper()
	withPreparedGateway(t, func(s *harness) {
		connectortest.Serve(s.T, s.listen(agentAt), a)
		s.cfg.Models.Chat = []config.ChatModel{agentModel(edit)}
		s.cfg.Models.Large = config.Model{Provider: "http"}
	}, play)
}

// The thread is the same for a room until /new. Each room has its own. An agent with a memory gets only the new messages.
func TestAgentThread(t *testing.T) {
	a := bookings()
	withAgent(t, a, func(m *config.ChatModel) { m.History = "last" }, func(s *harness) {
		one, other := s.newConversation(), s.newConversation()
		s.readAll(s.send(one, "1", "One"))
		s.readAll(s.send(one, "2", "Two"))
		s.readAll(s.send(one, "3", "/new"))
		s.readAll(s.send(one, "4", "Forget it"))
		s.readAll(s.send(one, "5", "Three"))
		s.readAll(s.send(other, "1", "Four"))
		s.allowDeletion()
		runs := a.asked()
		if len(runs) != 4 {
			t.Fatalf("%d runs\n%s", len(runs), s.Logged.String())
		}
		threads := map[string]bool{runs[0].ThreadID: true, runs[2].ThreadID: true, runs[3].ThreadID: true}
		if runs[0].ThreadID != runs[1].ThreadID || len(threads) != 3 {
			t.Errorf("threads %q %q %q %q", runs[0].ThreadID, runs[1].ThreadID, runs[2].ThreadID, runs[3].ThreadID)
		}
		if n := len(runs[1].Messages); n != 1 || string(runs[1].Messages[0].Content) != `"Two"` {
			t.Errorf("the second request has %+v", runs[1].Messages)
		}
		if len(runs[2].Messages) != 2 {
			t.Errorf("the request after /new has %+v", runs[2].Messages)
		}
	})
}

// The agent learns the language of the user's client, as far as the platform reports it.
func TestAgentKnowsTheLocale(t *testing.T) {
	locale := func(in agui.Input) string {
		var props struct{ User struct{ Locale string } }
		_ = json.Unmarshal(in.Forwarded, &props)
		return props.User.Locale
	}
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := bookings()
		serveAgent(c, a)
		useAgent(c, nil)
		want := "en"
		if w, ok := c.Platform.(*discordworld.Platform); ok { // messages have none, commands do
			w.Command(connectortest.Ada, c.ada, "ask", "question", "Hi")
			c.Pass(20 * time.Second)
			want = "en-US"
		}
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.Pass(20 * time.Second)
		for _, in := range a.asked() {
			if got := locale(in); got != want {
				t.Errorf("the locale is %q; want %q", got, want)
			}
		}
	})
	a := bookings()
	withAgent(t, a, nil, func(s *harness) {
		client := s.browser.HTTP.Transport
		for header, want := range map[string]string{"de-AT,de;q=0.9": "de-AT", "fr;q=1": "fr", "*": "", "<b>": "", "": ""} {
			s.browser.HTTP.Transport = withHeader{client, "Accept-Language", header}
			s.readAll(s.send(s.newConversation(), "1", "Hello"))
			if runs := a.asked(); locale(runs[len(runs)-1]) != want {
				t.Errorf("with %q the locale is %q; want %q", header, locale(runs[len(runs)-1]), want)
			}
		}
		s.browser.HTTP.Transport = client
	})
}

// withHeader adds a header to requests.
type withHeader struct {
	http.RoundTripper
	name, value string
}

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return h.RoundTripper.RoundTrip(r)
}

// An agent fetches a file of the question from an address: once, within its time, from any process. The address tells nothing, and is
// never in a log.
func TestAgentFetchesAFile(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := bookings()
		serveAgent(c, a)
		useAgent(c, func(m *config.ChatModel) { m.Share = []config.AgentShare{"file_links"} })
		address := func(text string) string {
			c.SendFile(connectortest.Ada, c.ada, text, connectortest.File{Name: "plan.md", Type: "text/markdown", Data: []byte("Buy tea.")})
			c.Pass(30 * time.Second)
			runs := a.asked()
			last := runs[len(runs)-1]
			var parts []agui.Part
			c.Must(json.Unmarshal(last.Messages[len(last.Messages)-1].Content, &parts))
			if len(parts) != 2 || parts[1].Source == nil || parts[1].Source.Type != "url" || !strings.HasPrefix(parts[1].Source.Value, "http://"+webAt+"/api/agents/files/") {
				t.Fatalf("the agent got %+v", parts)
			}
			c.secrets = append(c.secrets, strings.TrimPrefix(parts[1].Source.Value, "http://"+webAt+"/api/agents/files/"))
			return parts[1].Source.Value
		}
		want := func(method, address string, status int, content string) {
			t.Helper()
			got, text := c.request(method, strings.TrimPrefix(address, c.browser.Base), "", nil)
			if got != status || content != "" && text != content {
				t.Errorf("%s: %d %q; want %d %q", method, got, text, status, content)
			}
		}
		one := address("Read this")
		if strings.Contains(one, "plan") || strings.Contains(one, string(c.ada)) {
			t.Errorf("the address is %s", one)
		}
		want(http.MethodHead, one, http.StatusMethodNotAllowed, "")
		want(http.MethodGet, one+"A", http.StatusNotFound, "")
		want(http.MethodGet, one, http.StatusOK, "Buy tea.")
		want(http.MethodGet, one, http.StatusNotFound, "")
		late, other := address("And this"), address("And that")
		c.restart()
		want(http.MethodGet, one, http.StatusNotFound, "")
		want(http.MethodGet, other, http.StatusOK, "Buy tea.")
		c.Pass(16 * time.Minute)
		want(http.MethodGet, late, http.StatusNotFound, "")
	})
}

// A newer message supersedes a run of the agent: its stream is closed, and nothing of it is shown after the newer answer has begun.
func TestAgentIsSuperseded(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := &fakeAgent{}
		a.respond = func(in agui.Input, line func(string, time.Duration)) {
			word := strings.Trim(string(in.Messages[len(in.Messages)-1].Content), `"`)
			for n := range 20 {
				line(fmt.Sprintf(`{"type":"text","text":"%s says %d. "}`, word, n), time.Second)
			}
			line(`{"type":"done"}`, 0)
		}
		serveAgent(c, a)
		useAgent(c, nil)
		c.Say(connectortest.Ada, c.ada, "Older")
		c.waitShown(c.ada, "Older says 4")
		c.Say(connectortest.Ada, c.ada, "Newer")
		c.waitShown(c.ada, "Newer says 19")
		c.WaitIdle()
		runs := a.asked()
		a.mu.Lock()
		left := slices.Clone(a.left)
		a.mu.Unlock()
		if len(runs) != 2 || !slices.Equal(left, []string{runs[0].RunID}) {
			t.Errorf("the agent was asked %d times, and readers have left %q", len(runs), left)
		}
		own := slices.DeleteFunc(c.Messages(c.ada), func(m connectortest.Message) bool { return !m.ByBot })
		if len(own) != 2 || !strings.Contains(own[0].Text, "Interrupted by a newer message") || strings.Contains(own[1].Text, "Older") {
			t.Fatalf("people read %q", connectortest.BotTexts(c, c.ada))
		}
		if last, first := own[0].Versions[len(own[0].Versions)-1], own[1].Versions[0]; last.At.After(first.At) || strings.Contains(last.Text, "Older says 6") {
			t.Errorf("the older answer ends with %q at %v; the newer one begins at %v", last.Text, last.At, first.At)
		}
	})
}

// After a reload with another token, an agent writes with that one alone.
func TestAgentChangesItsToken(t *testing.T) {
	const newToken = "token-fedcba9876543210"
	a := bookings()
	withAgent(t, a, func(m *config.ChatModel) { m.Token = agentToken }, func(s *harness) {
		s.secrets = append(s.secrets, agentToken, newToken)
		s.readAll(s.send(s.newConversation(), "1", "Hello"))
		post := func(token string) int {
			status, _ := s.postAsAgent(token, "", `{"threadId":"`+a.asked()[0].ThreadID+`","text":"Hi"}`)
			return status
		}
		before := [2]int{post(agentToken), post(newToken)}
		s.reload(func(cfg *config.Config) { cfg.Models.Chat[0].Token = newToken })
		after := [2]int{post(agentToken), post(newToken)}
		s.reload(func(cfg *config.Config) { cfg.Models.Chat[0].Token = "" })
		off := [2]int{post(newToken), post("")}
		if want := [2]int{http.StatusAccepted, http.StatusUnauthorized}; before != want || after != [2]int{want[1], want[0]} || off != [2]int{want[1], want[1]} {
			t.Errorf("with the first token: %v, with the second: %v, without: %v", before, after, off)
		}
		time.Sleep(time.Minute)
	})
}
