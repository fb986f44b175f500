package parley_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	. "parley/connectors/connectortest"
)

var codes = regexp.MustCompile(`[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}`)

// hears is the last that somebody reads in their direct chat.
func (c *chat) hears(who Who) string {
	c.Helper()
	c.pass(time.Minute)
	c.rest()
	own := Own(c, c.Direct(who))
	if len(own) == 0 {
		return ""
	}
	return own[len(own)-1]
}

// localPage is what the page of this machine is told of the owner's code.
func (c *chat) localPage() string {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, c.browser.Base+"/local/owner", nil)
	c.must(err)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := c.browser.HTTP.Do(r)
	c.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	c.must(err)
	return string(body)
}

// A new gateway knows nobody. Whoever brings the code of its log, or of its page, to a bot is the owner, and lets others in by theirs; that
// outlives it. Nobody else has cost anything.
func TestChatPairing(t *testing.T) {
	onEach(t, nil, func(c *chat) {
		c.shutdown()
		c.cfg.Access.Allow.Users = nil
		c.start()
		c.pass(10 * time.Second)
		ownerCode := codes.FindString(c.log.String())
		if shown := codes.FindString(c.localPage()); shown != ownerCode {
			t.Errorf("the page shows %q, the log %q", shown, ownerCode)
		}
		c.Say(Eve, c.Direct(Eve), "Hello")
		if said := c.hears(Eve); !strings.Contains(said, "can't talk with anybody yet") {
			t.Errorf("without an owner a stranger reads %q", said)
		}
		c.Say(Ada, c.ada, ownerCode)
		if said := c.hears(Ada); !strings.Contains(said, "my owner now") {
			t.Errorf("Ada reads %q; the code is %q", said, ownerCode)
		}
		if shown := c.localPage(); shown != "" {
			t.Errorf("the page of a gateway with an owner shows %q", shown)
		}
		c.Say(Eve, c.Direct(Eve), "Hello?")
		code := codes.FindString(c.hears(Eve))
		c.Mention(Eve, c.group, "Is anybody here?")
		c.pass(time.Minute)
		c.asked(0)
		c.crash()
		c.start()
		c.pass(time.Minute)
		c.Say(Ada, c.ada, "/pair "+code)
		if said := c.hears(Ada); !strings.Contains(said, "I talk with") {
			t.Errorf("Ada reads %q; the code is %q", said, code)
		}
		c.asked(0)
		c.Say(Eve, c.Direct(Eve), "And now?")
		if said := c.hears(Eve); said != "You said: And now?" {
			t.Errorf("Eve reads %q", said)
		}
		c.Say(Ada, c.ada, "And I?")
		if said := c.hears(Ada); said != "You said: And I?" {
			t.Errorf("Ada reads %q", said)
		}
		c.asked(2)
	})
}
