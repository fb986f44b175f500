package stories_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/telegramworld"
	"parley/models/modelfake"
)

// slowTale answers with words for a while.
func slowTale(modelfake.Request) modelfake.Script {
	return modelfake.Script{modelfake.Pace(300 * time.Millisecond), modelfake.Text(strings.Repeat(tale+" ", 4), modelfake.ByWord)}
}

func withButtons(cfg *config.Config) { cfg.Turns.Buttons = true }

// wantTold wants the last private line.
func (c *chatHarness) wantTold(w buttonPlatform, want string) {
	c.Helper()
	told := w.Told()
	if len(told) == 0 || told[len(told)-1] != want {
		c.Errorf("told %q; want %q", told, want)
	}
}

// Below an answer without a model, such as that to a user without access, there is no button to stop or retry it. On Telegram, its code
// can be copied there.
func TestNoButtonsBelowRefusals(t *testing.T) {
	onEachPlatform(t, withButtons, func(c *chatHarness) {
		c.cfg.People.Allowed = nil
		ownedByAda(c)
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.Pass(time.Minute)
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "Hello")
		c.Pass(time.Minute)
		c.Say(connectortest.Ada, c.ada, "/admin")
		c.Pass(time.Minute)
		for _, in := range []connectortest.Room{c.Direct(connectortest.Eve), c.ada} {
			texts := connectortest.BotTexts(c, in)
			code := regexp.MustCompile(`[A-Z2-9]{4}(-[A-Z2-9]{4})+`).FindString(texts[len(texts)-1])
			if got := c.Platform.(buttonPlatform).Buttons(in); code == "" || in != c.ada && len(got) != 0 {
				t.Errorf("%q has the buttons %q; want a code without one", texts, got)
			}
			w, ok := c.Platform.(*telegramworld.Platform)
			if !ok {
				continue
			}
			all := w.Fake.Messages(telegramworld.Chat(in))
			if b := all[len(all)-1].Buttons(); len(b) != 1 || b[0].Copy == nil || b[0].Copy.Text != code {
				t.Errorf("%q has the buttons %+v; want one that copies the code", texts, b)
			}
		}
	})
}

// Stop ends exactly the answer above it, for the user who asked, also after a crash of the process. Retry answers the question again,
// once, however often it is pressed.
func TestStopAndRetryButtons(t *testing.T) {
	for name, interrupt := range map[string]func(*chatHarness){"": func(*chatHarness) {}, "crash": func(c *chatHarness) { c.crash(); c.start(); c.Pass(10 * time.Second) }} {
		t.Run(name, func(t *testing.T) {
			onEachPlatform(t, withButtons, func(c *chatHarness) {
				w := c.Platform.(buttonPlatform)
				echo := c.choose
				c.choose = slowTale
				c.Mention(connectortest.Ada, c.group, "Tell us")
				c.Mention(connectortest.Bob, c.group, "And me")
				c.Pass(8 * time.Second)
				if got := w.Buttons(c.group); !slices.Equal(got, []string{"Stop"}) {
					t.Fatalf("%q while it grows; want Stop", got)
				}
				w.Press(connectortest.Bob, c.group, 0)
				c.Pass(2 * time.Second)
				c.wantTold(w, "Only the user who asked can do that.")
				interrupt(c)
				w.Press(connectortest.Ada, c.group, 0)
				c.Pass(10 * time.Second)
				if got := w.Buttons(c.group); !slices.Equal(got, []string{"Retry", "Stop"}) { // Bob's answer has begun
					t.Fatalf("%q after it was stopped; want Retry, and Stop below the next", got)
				}
				c.WaitIdle()
				c.choose = echo
				calls := len(c.model.Requests())
				for range 2 {
					w.Press(connectortest.Bob, c.group, 0)
				}
				c.Pass(30 * time.Second)
				c.WaitIdle()
				if n := len(c.model.Requests()) - calls; n != 1 {
					t.Errorf("%d calls for two presses of Retry; want one", n)
				}
				c.waitShown(c.group, "You said: ")
				interrupt(c)
				c.forgotten = map[string]bool{} // a retry replaces the stored answer
				for _, m := range c.Messages(c.group) {
					c.forgotten[m.ID] = m.ByBot
				}
				w.Press(connectortest.Eve, c.group, 0)
				c.Pass(5 * time.Second)
				c.wantTold(w, "I only talk to people my owner has approved.")
			})
		})
	}
}

// After a newer answer, an old button answers with a private sentence. Without the key there are none.
func TestOldButtons(t *testing.T) {
	onEachPlatform(t, withButtons, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		c.Mention(connectortest.Ada, c.group, "One")
		c.WaitIdle()
		c.Mention(connectortest.Ada, c.group, "Two")
		c.WaitIdle()
		for _, data := range []string{"/retry/1:0", "/stop/1:0", "/stop/99:0", "/retry/99:0", "/retry/x:0"} {
			w.PressAgain(connectortest.Ada, c.group, data)
			c.Pass(5 * time.Second)
		}
		if got := w.Told(); !slices.Equal(got, []string{
			"There is a newer answer. Use its buttons, or ask again.", "This answer has ended.", "This answer has ended.", "There is a newer answer. Use its buttons, or ask again.",
			"This question has closed.",
		}) {
			t.Errorf("told %q", got)
		}
		c.wantModelCalls(2)
		c.reload(func(cfg *config.Config) { cfg.Turns.Buttons = false })
		had := len(w.Buttons(c.group))
		c.Mention(connectortest.Ada, c.group, "Three")
		c.WaitIdle()
		if got := w.Buttons(c.group); len(got) != had {
			t.Errorf("%q; want none below the last answer", got)
		}
	})
}
