package stories_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/internal/require"
	"parley/models/modelfake"
)

// The web chat: /new asks, another conversation can't answer, the right one can, once (SE-07).
func TestNewOnTheWeb(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c, other := s.newConversation(), s.newConversation()
		s.readAll(s.send(c, "1", "Hello"))
		s.readAll(s.send(other, "1", "Hello"))
		asked := s.readAll(s.send(c, "2", "/new"))
		if !strings.Contains(*asked.FullText, "Its messages will be deleted.") { // a reload shows none
			s.Errorf(`/new asks %q; want it to contain "Its messages will be deleted."`, *asked.FullText)
		}
		q := require.Value(s.Store.QuestionOf(s.Context(), chat.RunID(asked.MessageID)))(s)
		choose := func(conversation string, option int) (int, string) {
			body := require.Value(json.Marshal(map[string]any{"id": q.ID, "option": option}))(s)
			resp, err := s.browser.HTTP.Post(s.browser.Base+"/api/conversations/"+conversation+"/choices/stream", "application/json", bytes.NewReader(body))
			s.Must(err)
			defer resp.Body.Close()
			text := require.Value(io.ReadAll(resp.Body))(s)
			return resp.StatusCode, string(text)
		}
		if status, text := choose(other, 1); status != http.StatusConflict {
			s.Errorf("another conversation: %d %s; want %d", status, text, http.StatusConflict)
		}
		for range 2 { // the same choice again attaches to the same answer
			if status, text := choose(c, 1); status != http.StatusOK || !strings.Contains(text, "Okay, nothing was forgotten.") {
				s.Errorf(`the right one: %d %s; want %d and it to contain "Okay, nothing was forgotten."`, status, text, http.StatusOK)
			}
		}
		if status, text := choose(c, 0); status != http.StatusConflict || !strings.Contains(text, "This question has closed.") {
			s.Errorf("again: %d %s", status, text)
		}
	})
}

// What the agent offers is chosen with a button, or by writing it, and then there are no buttons; the model goes on with that.
func TestChooseOption(t *testing.T) {
	script := modelfake.Script{modelfake.ToolCall("c", "CHOOSE_OPTION", `{"question":"Which tea?","options":["Assam","Sencha"]}`)}
	onEachPlatform(t, nil, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		c.model.Queue(script, modelfake.Script{modelfake.Text("Sencha it is.")})
		c.Say(connectortest.Ada, c.ada, "tea please")
		c.Pass(time.Minute)
		if got := w.Buttons(c.ada); len(got) < 2 || !slices.Equal(got[:2], []string{"Assam", "Sencha"}) { // on Discord, "Something else…" follows
			c.Fatalf("the buttons are %q", got)
		}
		w.Press(connectortest.Ada, c.ada, 1)
		c.Pass(time.Minute)
		lines := c.Messages(c.ada)
		if last := lines[len(lines)-1].Text; last != "Sencha it is." || len(w.Buttons(c.ada)) != 0 {
			c.Errorf(`the last message says %q; the buttons are %q; want "Sencha it is." and none`, last, w.Buttons(c.ada))
		}
		if got := c.modelRequest(1); !strings.Contains(got, "Which tea?") || !strings.Contains(got, `\n\nSencha"`) {
			c.Errorf("the model was asked %s", got)
		}
		c.model.Queue(script, modelfake.Script{modelfake.Text("Assam it is.")})
		c.Say(connectortest.Ada, c.ada, "more tea please")
		c.Pass(time.Minute)
		c.Say(connectortest.Ada, c.ada, "1")
		c.Pass(time.Minute)
		if own := connectortest.BotTexts(c, c.ada); len(own) != 4 || own[2] != "Which tea?" || own[3] != "Assam it is." || len(w.Buttons(c.ada)) != 0 {
			c.Errorf("in writing: %q; the buttons are %q", own, w.Buttons(c.ada))
		}
	})
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		s.model.Queue(script, modelfake.Script{modelfake.Text("Sencha it is.")})
		asked := s.readAll(s.send(c, "1", "tea please"))
		if *asked.FullText != "Which tea?" || !strings.Contains(asked.Raw, `"options":["Assam","Sencha"]`) {
			s.Fatalf("asked is %s", asked.Raw)
		}
		if got := *s.readAll(s.send(c, "2", "Sencha")).FullText; got != "Sencha it is." {
			s.Errorf(`it goes on with %q; want "Sencha it is."`, got)
		}
	})
}

// A number that is typed later in the conversation is a message, and not the confirmation of an earlier /new. The buttons still work.
func TestLaterNumberForgetsNothing(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		for _, text := range []string{"hello", "/new", "How many are there?"} {
			c.Say(connectortest.Ada, c.ada, text)
			c.Pass(time.Minute)
		}
		for _, text := range []string{"1", "forget it"} {
			c.Say(connectortest.Ada, c.ada, text)
			c.Pass(time.Minute)
		}
		if got := c.Messages(c.ada); slices.ContainsFunc(got, func(m connectortest.Message) bool { return strings.Contains(m.Text, "forgotten") }) || !strings.Contains(c.modelRequest(3), "How many are there?") {
			c.Errorf("they see %v", got)
		}
		if got := w.Buttons(c.ada); !slices.Equal(got, []string{"Forget it", "Keep it"}) {
			c.Errorf("the buttons are %q", got)
		}
	})
}

// buttonPlatform is a platform whose messages can have buttons.
type buttonPlatform interface {
	Press(from connectortest.User, in connectortest.Room, option int)
	PressAgain(from connectortest.User, in connectortest.Room, data string)
	Buttons(in connectortest.Room) []string
	Told() []string
}

// SE-07 on both platforms: a group sees the buttons, and only who asked for them may press; once, not after a stop, and not
// after their time. Expired buttons are removed: at once, or at the next press.
func TestNewInAGroup(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		c.Mention(connectortest.Ada, c.group, "hello")
		c.Pass(time.Minute)
		c.Mention(connectortest.Ada, c.group, "/new")
		c.Pass(time.Minute)
		if got := w.Buttons(c.group); !slices.Equal(got, []string{"Forget it", "Keep it"}) {
			c.Fatalf("the buttons are %q", got)
		}
		w.Press(connectortest.Eve, c.group, 0)
		c.Pass(time.Minute)
		w.Press(connectortest.Ada, c.group, 1)
		c.Pass(time.Minute)
		told := w.Told()
		if len(told) != 2 || told[0] != "This choice is not yours to make." || told[1] != "" || len(w.Buttons(c.group)) != 0 {
			c.Errorf("told was %q; the buttons are %q", told, w.Buttons(c.group))
		}
		lines := c.Messages(c.group)
		if last := bare(lines[len(lines)-1].Text); !strings.HasSuffix(last, bare("→ Keep it (Ada) Okay, nothing was forgotten.")) {
			c.Errorf("the message says %q", lines[len(lines)-1].Text)
		}
		w.PressAgain(connectortest.Ada, c.group, "UNKNOWN:0")
		c.Pass(time.Minute)
		c.Mention(connectortest.Ada, c.group, "/new")
		c.Pass(time.Minute)
		c.Mention(connectortest.Ada, c.group, "/stop")
		c.Pass(time.Minute)
		if got := w.Buttons(c.group); len(got) != 0 {
			c.Errorf("after a stop the buttons are %q; want none", got)
		}
		c.Mention(connectortest.Ada, c.group, "/new")
		c.Pass(2 * time.Hour)
		lines = c.Messages(c.group)
		question := lines[len(lines)-1].Text
		w.Press(connectortest.Bob, c.group, 0)
		c.Pass(time.Minute)
		lines = c.Messages(c.group)
		if got := w.Buttons(c.group); len(got) != 0 || lines[len(lines)-1].Text != question {
			c.Errorf("what was over is now %q, with the buttons %q; want none and %q", lines[len(lines)-1].Text, got, question)
		}
		if told := w.Told(); len(told) != 4 || told[2] != "This question has closed." || told[3] != "This question has closed." {
			c.Errorf("told was %q", told)
		}
	})
}

// Models are chosen with buttons, on each platform and on the page; what the model server is asked for follows.
func TestSwitchModel(t *testing.T) {
	several := func(cfg *config.Config) {
		yes, half := true, 0.5
		cfg.Models.Chat = []config.ChatModel{
			{Name: "main", Provider: config.ProviderOpenAI, Model: modelfake.DefaultModel}, {Name: "fast", Provider: config.ProviderOpenAI, Model: "small-1", Parameters: config.Parameters{TopP: &half, Stop: []string{"END"}, ExtraBody: `{"verbosity":"low"}`}},
		}
		cfg.Models.Switch = &yes
	}
	onEachPlatform(t, several, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		c.Say(connectortest.Ada, c.ada, "/model")
		c.Pass(time.Minute)
		if got := w.Buttons(c.ada); !slices.Equal(got, []string{"main", "fast", "Default"}) {
			c.Fatalf("the buttons are %q", got)
		}
		w.Press(connectortest.Ada, c.ada, 1)
		c.Pass(time.Minute)
		lines := c.Messages(c.ada)
		if last := lines[len(lines)-1].Text; !strings.Contains(last, "answers in this chat.") || len(w.Buttons(c.ada)) != 0 {
			c.Errorf(`it says %q; the buttons are %q; want it to contain "answers in this chat." and none`, last, w.Buttons(c.ada))
		}
		c.model.Queue(modelfake.Script{modelfake.Text("Hello.")})
		c.Say(connectortest.Ada, c.ada, "hi")
		c.Pass(time.Minute)
		if got := c.modelRequest(0); !strings.Contains(got, `"model":"small-1"`) || strings.Contains(got, "model: fast") {
			c.Errorf("the server was asked %s", got)
		}
	})
	withGateway(t, several, func(s *harness) {
		c := s.newConversation()
		if asked := s.readAll(s.send(c, "1", "/model")); !strings.Contains(asked.Raw, `"options":["main","fast","Default"]`) {
			s.Fatalf("asked is %s", asked.Raw)
		}
		s.model.Queue(modelfake.Script{modelfake.Text("Hello.")})
		s.readAll(s.send(c, "first", "hi"))
		if all := s.model.Requests(); strings.Contains(string(all[len(all)-1].Raw), "top_p") {
			s.Errorf("the server was asked %s", all[len(all)-1].Raw)
		}
		s.readAll(s.send(c, "2", "/model fast"))
		s.model.Queue(modelfake.Script{modelfake.Text("Hello.")})
		s.readAll(s.send(c, "3", "hi"))
		all := s.model.Requests()
		for _, part := range []string{`"model":"small-1"`, `"top_p":0.5`, `"stop":["END"]`, `"verbosity":"low"`} {
			if asked := string(all[len(all)-1].Raw); !strings.Contains(asked, part) {
				s.Errorf("the server was asked without %s: %s", part, asked)
			}
		}
	})
}
