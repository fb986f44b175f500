package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
)

// Bob loses his role, or is blocked, between the card and his press: he does not take over, and the owner still can. In mid-conversation, the visitor is
// told, the owner gets a card, and his words go to no visitor.
func TestPersonLosesTheRole(t *testing.T) {
	for name, lose := range map[string]func(c *chatHarness){
		"no role": func(c *chatHarness) {
			c.shutdown()
			c.cfg.People.Staff = nil
			c.start()
		},
		"blocked": func(c *chatHarness) { c.Say(connectortest.Ada, c.ada, "/block "+c.Account(connectortest.Bob)) },
	} {
		t.Run(name, func(t *testing.T) {
			onEachPlatform(t, nil, func(c *chatHarness) {
				w, bob := c.Platform.(buttonPlatform), c.Direct(connectortest.Bob)
				c.cfg.People.Staff = []config.Member{config.Member(c.Account(connectortest.Bob))}
				c.startDesk()
				c.Say(connectortest.Bob, bob, "Hello")
				c.Pass(10 * time.Second)
				asks := func() (id string) {
					id = c.newConversation()
					c.readAll(c.send(id, "1", "/person about tea"))
					c.waitShown(bob, "about tea")
					return id
				}
				first := asks()
				w.Press(connectortest.Bob, bob, 0)
				c.waitShown(bob, "You're talking to")
				second := asks()
				lose(c)
				c.Pass(2 * time.Minute)
				c.Say(connectortest.Bob, bob, "Too late")
				w.Press(connectortest.Bob, bob, 0)
				c.Pass(10 * time.Second)
				if got := c.visitorReads(first); strings.Count(got, "Bob has left.") != 1 || strings.Contains(got, "Too late") {
					c.Errorf("in mid-conversation the visitor reads %s", got)
				}
				if got := c.visitorReads(second); strings.Contains(got, "Bob") {
					c.Errorf("after a press without the role the visitor reads %s", got)
				}
				for _, id := range []string{first, second} { // the newest card first
					w.Press(connectortest.Ada, c.ada, 0)
					c.Pass(10 * time.Second)
					c.Say(connectortest.Ada, c.ada, "How can I help?")
					c.Pass(10 * time.Second)
					if got := c.visitorReads(id); strings.Count(got, "How can I help?") != 1 {
						c.Errorf("after the owner has taken over, the visitor reads %s", got)
					}
					c.Say(connectortest.Ada, c.ada, "/person back")
					c.Pass(10 * time.Second)
				}
			})
		})
	}
}

// A visitor deletes the conversation at the moment at which the person writes, and the gateway dies: the person is told, and no one else reads the words.
func TestPersonWritesAsTheConversationIsDeleted(t *testing.T) {
	withDesk(t, func(c *chatHarness, _ func()) {
		id := c.talkToVisitor()
		c.deleteConversation(id)
		c.Say(connectortest.Ada, c.ada, "Your code is 4711")
		c.WaitIdle()
		c.restart()
		c.waitShown(c.ada, "was deleted.")
		for _, q := range c.model.Requests() {
			if strings.Contains(string(q.Raw), "4711") {
				c.Errorf("the model reads %s", q.Raw)
			}
		}
		if lines, _ := c.browser.Reload(c.Context(), id); len(lines) > 0 {
			c.Errorf("the conversation has %+v", lines)
		}
	})
}
