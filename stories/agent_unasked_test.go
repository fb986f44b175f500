package stories_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/require"
	"parley/progressive"
)

const agentToken = "token-0123456789abcdef"

// postAsAgent sends a message of the agent by itself, and returns the response.
func (s *harness) postAsAgent(token, key, body string) (int, string) {
	s.Helper()
	return s.request(http.MethodPost, "/api/agents/mine/messages", "application/json", []byte(body), "Authorization", "Bearer "+token, "Idempotency-Key", key)
}

// An agent writes by itself to the chat of a thread: once for each key. A job has one message, whose text changes in place.
func TestAgentSpeaks(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := bookings()
		serveAgent(c, a)
		useAgent(c, func(m *config.ChatModel) { m.Token = agentToken })
		c.secrets = append(c.secrets, agentToken)
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.waitShown(c.ada, "Thread")
		c.WaitIdle()
		thread := a.asked()[0].ThreadID
		post := func(token, key, body string) (int, string) {
			defer c.Pass(20 * time.Second)
			return c.postAsAgent(token, key, body)
		}
		body := func(thread, id, text string) string {
			data := require.Value(json.Marshal(map[string]string{"threadId": thread, "id": id, "text": text}))(c)
			return string(data)
		}
		for _, r := range []struct {
			token, key, body string
			status           int
			says             string
		}{
			{"wrong", "a", body(thread, "", "Hi"), http.StatusUnauthorized, "token"},
			{agentToken, "a", body("unknown", "", "Hi"), http.StatusConflict, "threadId"},
			{agentToken, "a", `{"text":"x"}`, http.StatusBadRequest, "threadId"},
			{agentToken, "a", body(thread, "", "Your train is late."), http.StatusAccepted, "accepted"},
			{agentToken, "a", body(thread, "", "Your train is late."), http.StatusAccepted, "duplicate"},
			{agentToken, "a", body(thread, "", "Something else."), http.StatusConflict, "something else"},
			{agentToken, "", body(thread, "job", "✨ Export: 10 %"), http.StatusAccepted, "accepted"},
			{agentToken, "", body(thread, "job", "✨ Export: 90 %"), http.StatusAccepted, ""},
			{agentToken, "", body(thread, "job", "✨ Export: done"), http.StatusAccepted, ""},
		} {
			if status, text := post(r.token, r.key, r.body); status != r.status || !strings.Contains(text, r.says) {
				t.Errorf("%s: %d %s", r.body, status, text)
			}
		}
		own := connectortest.BotTexts(c, c.ada)
		if len(own) != 3 || own[1] != "Your train is late." || own[2] != "✨ Export: done" {
			t.Errorf("people read %q", own)
		}
		c.Say(connectortest.Ada, c.ada, "Thanks")
		c.Pass(20 * time.Second)
		post(agentToken, "", body(thread, "job", "✨ Export: done again"))
		if own = connectortest.BotTexts(c, c.ada); len(own) != 5 || own[4] != "✨ Export: done again" {
			t.Errorf("after a message people read %q", own)
		}
		if n := len(a.asked()); n != 2 {
			t.Errorf("the agent was asked %d times", n)
		}
	})
}

// late is a message with a file and two choices.
func late(thread string) string {
	return `{"threadId":"` + thread + `","text":"Your train is late. Shall I book another?","choices":["Yes, please","No"],` +
		`"files":[{"name":"times.txt","mediaType":"text/plain","data":"` + base64.StdEncoding.EncodeToString([]byte("09:30 late")) + `"}]}`
}

// A message that an agent sends by itself has a file and choices, once, also if the process dies before it is sent. The choice reaches
// the agent as the next message of its thread, from whichever process.
func TestAgentSpeaksWithFilesAndChoices(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		a := bookings()
		serveAgent(c, a)
		useAgent(c, func(m *config.ChatModel) { m.Token = agentToken })
		c.secrets = append(c.secrets, agentToken)
		w := c.Platform.(buttonPlatform)
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.waitShown(c.ada, "Thread")
		c.WaitIdle()
		thread := a.asked()[0].ThreadID
		c.InjectFault(connectortest.Fault{Op: progressive.Post, Hold: 5 * time.Second})
		for _, want := range []string{"accepted", "duplicate"} {
			if status, text := c.postAsAgent(agentToken, "late", late(thread)); status != http.StatusAccepted || !strings.Contains(text, want) {
				t.Fatalf("%d %s; want %s", status, text, want)
			}
		}
		c.Pass(time.Second) // the platform has refused the message by now
		c.restart()
		c.Pass(30 * time.Second)
		var files []string
		for _, m := range c.Messages(c.ada) {
			for _, f := range m.Files {
				files = append(files, f.Name+": "+string(f.Data))
			}
		}
		if !slices.Equal(files, []string{"times.txt: 09:30 late"}) || !slices.Equal(w.Buttons(c.ada), []string{"Yes, please", "No"}) || !slices.Contains(connectortest.BotTexts(c, c.ada), "Your train is late. Shall I book another?") {
			t.Errorf("people see the files %q and the buttons %q with the texts %q", files, w.Buttons(c.ada), connectortest.BotTexts(c, c.ada))
		}
		w.Press(connectortest.Ada, c.ada, 0)
		c.Pass(time.Minute)
		runs := a.asked()
		if n := len(runs); n != 2 || runs[1].ThreadID != thread || string(runs[1].Messages[len(runs[1].Messages)-1].Content) != `"Yes, please"` {
			t.Errorf("the agent was asked for %+v", runs)
		}
	})
}

// The same on the web. What a message can't have is refused with a sentence, and nothing is sent.
func TestAgentSpeaksOnTheWeb(t *testing.T) {
	a := bookings()
	withAgent(t, a, func(m *config.ChatModel) { m.Token = agentToken }, func(s *harness) {
		s.secrets = append(s.secrets, agentToken)
		id := s.newConversation()
		s.readAll(s.send(id, "1", "Hello"))
		thread := a.asked()[0].ThreadID
		large := base64.StdEncoding.EncodeToString(make([]byte, llm.MaxFile+1))
		for more, want := range map[string]struct {
			status int
			says   string
		}{
			`"urgent":true`:                        {http.StatusBadRequest, `unknown field \"urgent\"`},
			`"files":[{"url":"http://a.test"}]`:    {http.StatusBadRequest, `unknown field \"url\"`},
			`"files":[{"name":"a","data":"???"}]`:  {http.StatusBadRequest, "base64"},
			`"files":[{"name":"a","data":""}]`:     {http.StatusBadRequest, "no data"},
			`"files":[{"data":"` + large + `"}]`:   {http.StatusRequestEntityTooLarge, "8 MiB"},
			`"choices":["A","A"]`:                  {http.StatusBadRequest, "10 different texts"},
			`"choices":[" "]`:                      {http.StatusBadRequest, "10 different texts"},
			`"id":"job","choices":["A"]`:           {http.StatusBadRequest, "only text"},
			`"id":"job","files":[{"data":"aGk="}]`: {http.StatusBadRequest, "only text"},
			`"choices":"A"`:                        {http.StatusBadRequest, "choices are texts"},
		} {
			status, text := s.postAsAgent(agentToken, "", `{"threadId":"`+thread+`","text":"Hi",`+more+`}`)
			if status != want.status || !strings.Contains(text, want.says) {
				t.Errorf("%.60s: %d %s", more, status, text)
			}
		}
		if status, text := s.postAsAgent(agentToken, "late", late(thread)); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, text)
		}
		time.Sleep(time.Minute)
		status, page := s.request(http.MethodGet, "/api/conversations/"+id+"/messages", "", nil)
		var loaded struct {
			Messages []struct {
				Text    string
				Choices *answer.Choices
				Tools   []struct{ Files []struct{ Name, URL string } }
			}
		}
		s.Must(json.Unmarshal([]byte(page), &loaded))
		if n := len(loaded.Messages); status != http.StatusOK || n != 3 || loaded.Messages[2].Choices == nil || len(loaded.Messages[2].Tools) != 1 {
			t.Fatalf("the page shows %s", page)
		}
		m := loaded.Messages[2]
		if f := m.Tools[0].Files; len(f) != 1 || f[0].Name != "times.txt" {
			t.Errorf("the page shows the files %+v", f)
		} else if data, err := s.browser.Load(s.Context(), f[0].URL); err != nil || !strings.HasSuffix(data, base64.StdEncoding.EncodeToString([]byte("09:30 late"))) {
			t.Errorf("the file is %s, %v", data, err)
		}
		if status := s.postChoice(id, m.Choices.ID, 1); status != http.StatusOK {
			t.Errorf("to choose is %d", status)
		}
		time.Sleep(time.Minute)
		if runs := a.asked(); len(runs) != 2 || string(runs[1].Messages[len(runs[1].Messages)-1].Content) != `"No"` {
			t.Errorf("the agent was asked for %+v", runs)
		}
	})
}
