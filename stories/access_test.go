package stories_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
)

var codes = regexp.MustCompile(`[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}`)

// lastReply returns the last message in a user's direct chat.
func (c *chatHarness) lastReply(who connectortest.User) string {
	c.Helper()
	c.Pass(time.Minute)
	c.WaitIdle()
	own := connectortest.BotTexts(c, c.Direct(who))
	if len(own) == 0 {
		return ""
	}
	return own[len(own)-1]
}

// wantHidden checks that nothing the gateway serves to a browser of its machine holds a text: a proxy may add no header that tells
// its visitors from such a browser.
func (c *chatHarness) wantHidden(secret string) {
	c.Helper()
	for _, path := range []string{"/", "/local/owner", "/local/pair", "/widget.js", "/readyz"} {
		if _, reply := c.request(http.MethodGet, path, "", nil, "Sec-Fetch-Site", "same-origin"); strings.Contains(reply, secret) {
			c.Errorf("%s shows the owner's code", path)
		}
	}
}

// A new gateway has no owner. The first who sends a bot the code of its log is the owner, and lets others in by theirs; that
// outlives the process. Others have cost nothing. No page shows the owner's code (SE-10).
func TestChatPairing(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.shutdown()
		c.cfg.People.Allowed = nil
		c.start()
		c.Pass(10 * time.Second)
		ownerCode := codes.FindString(c.Logged.String())
		c.wantHidden(ownerCode)
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "Hello")
		if said := c.lastReply(connectortest.Eve); !strings.Contains(said, "haven't been set up yet") {
			t.Errorf(`without an owner a stranger reads %q; want it to contain "haven't been set up yet"`, said)
		}
		c.Say(connectortest.Ada, c.ada, ownerCode)
		if said := c.lastReply(connectortest.Ada); !strings.Contains(said, "You are now my owner") {
			t.Errorf(`Ada reads %q; the code is %q; want it to contain "You are now my owner"`, said, ownerCode)
		}
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "Hello?")
		code := codes.FindString(c.lastReply(connectortest.Eve))
		c.Mention(connectortest.Eve, c.group, "Is anybody here?")
		c.Pass(time.Minute)
		c.wantModelCalls(0)
		c.restart()
		c.Pass(time.Minute)
		c.Say(connectortest.Ada, c.ada, "/pair "+code)
		if said := c.lastReply(connectortest.Ada); !strings.Contains(said, "can now talk to me") {
			t.Errorf(`Ada reads %q; the code is %q; want it to contain "can now talk to me"`, said, code)
		}
		c.wantModelCalls(0)
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "And now?")
		if said := c.lastReply(connectortest.Eve); said != "You said: And now?" {
			t.Errorf(`Eve reads %q; want "You said: And now?"`, said)
		}
		c.Say(connectortest.Ada, c.ada, "And I?")
		if said := c.lastReply(connectortest.Ada); said != "You said: And I?" {
			t.Errorf(`Ada reads %q; want "You said: And I?"`, said)
		}
		c.wantModelCalls(2)
	})
}
