package stories_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// On each platform a reply of /forget has one message forgotten: it enters no further prompt.
func TestForgetByReply(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Say(connectortest.Ada, c.ada, "My password is swordfish")
		c.Pass(time.Minute)
		c.Reply(connectortest.Ada, c.ada, c.Messages(c.ada)[0], "/forget")
		c.Pass(time.Minute)
		if own := connectortest.BotTexts(c, c.ada); len(own) != 2 || !strings.HasPrefix(own[1], "Forgotten, with my answer") {
			c.Fatalf("she reads %q", own)
		}
		c.Say(connectortest.Ada, c.ada, "And now?")
		c.Pass(time.Minute)
		if p := c.modelRequest(1); strings.Contains(p, "swordfish") {
			c.Errorf(`the prompt is %s; want it without "swordfish"`, p)
		}
		c.checks = append(c.checks, func(e *sim.Evidence) []string { // the answer stays in the chat, as its reply says
			e.Seen = slices.DeleteFunc(e.Seen, func(s sim.Sight) bool { return strings.Contains(s.Text, "swordfish") })
			return nil
		})
	})
}

// SE-20: a minute after a conversation was forgotten, by its page or by /new, the store's file and its log hold none of its
// text, also not of a question that was still open.
func TestForgottenIsGone(t *testing.T) {
	const secret = "sesame-open"
	for name, forget := range map[string]func(s *harness, id string){
		"by the page": func(s *harness, id string) { s.forgetConversation(id) },
		"by /new": func(s *harness, id string) {
			s.readAll(s.send(id, "new", "/new"))
			s.readAll(s.send(id, "yes", "Forget it"))
		},
	} {
		for _, asks := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, with a question: %v", name, asks), func(t *testing.T) {
				withGateway(t, nil, func(s *harness) {
					id, other := s.newConversation(), s.newConversation()
					if asks {
						s.model.Queue(modelfake.Script{modelfake.ToolCall("c", "CHOOSE_OPTION", `{"question":"Which `+secret+`?","options":["`+secret+`","No"]}`)})
					}
					s.readAll(s.send(id, "1", "The word is "+secret))
					s.readAll(s.send(other, "1", "Hello"))
					path := strings.TrimPrefix(string(s.cfg.Store), "sqlite:")
					held := func() (n int) {
						for _, name := range []string{path, path + "-wal"} {
							data := require.Value(os.ReadFile(name))(s)
							n += bytes.Count(data, []byte(secret))
						}
						return n
					}
					if held() == 0 {
						t.Fatal("the store holds no message before it is deleted; want at least one")
					}
					forget(s, id)
					time.Sleep(time.Minute)
					if n := held(); n > 0 {
						t.Errorf("the store still holds it %d times", n)
					}
					if lines, err := s.browser.Reload(s.Context(), other); err != nil || len(lines) != 2 {
						t.Errorf("the other conversation is %+v, %v; want 2", lines, err)
					}
					s.allowDeletion()
				})
			})
		}
	}
}
