package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/models/modelfake"
)

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
