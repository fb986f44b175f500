package stories_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/internal/golden"
	"parley/models/modelfake"
)

// transcripts writes what Ada and Bob see in a room, and what they alone were told since the n-th response.
func transcripts(b *strings.Builder, what string, w *discordworld.Platform, in connectortest.Room, n int) {
	fmt.Fprintf(b, "== %s\n", what)
	for _, who := range []connectortest.User{connectortest.Ada, connectortest.Bob} {
		fmt.Fprintf(b, "-- %s\n%s", who, w.Transcript(who, in))
	}
	if labels := w.Buttons(in); len(labels) > 0 {
		fmt.Fprintf(b, "-- buttons: %s\n", strings.Join(labels, " | "))
	}
	for _, a := range w.Fake.PressAnswers()[n:] {
		if a.Type == 9 {
			m := w.Fake.Opened()
			fmt.Fprintf(b, "-- a modal opens: %s (%s)\n", m.Title, m.Labels[0].Description)
		} else if a.Content != "" {
			fmt.Fprintf(b, "-- only %s sees: %s\n", map[bool]connectortest.User{true: connectortest.Ada, false: connectortest.Bob}[a.User == w.User(connectortest.Ada)], a.Content)
		}
	}
	b.WriteString("\n")
}

// DR-32: the arguments of a call that waits for an approval are for approvers alone, who press Show; others see that something waits.
func TestArgumentsBehindShow(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		shop := withShop(c, nil)
		var b strings.Builder
		c.queueCall("shop__order", `{"item":"tea for Ada's secret party"}`, "It is ordered.")
		w.Mention(connectortest.Ada, c.group, "Order")
		c.Pass(10 * time.Second)
		transcripts(&b, "a call waits", w, c.group, len(w.Fake.PressAnswers()))
		n := len(w.Fake.PressAnswers())
		w.PressLabel(connectortest.Bob, c.group, "Show")
		c.Pass(time.Second)
		w.PressLabel(connectortest.Ada, c.group, "Show")
		c.Pass(time.Second)
		transcripts(&b, "Bob and Ada press Show", w, c.group, n)
		w.PressLabel(connectortest.Ada, c.group, "Once")
		c.Pass(10 * time.Second)
		transcripts(&b, "Ada approves", w, c.group, n)
		c.wantDone(shop, `order {"item":"tea for Ada's secret party"}`)
		golden.Check(t, "testdata/discord/show.txt", b.String())
	})
}

// A limit that a slash command reaches is told to its author alone, each time.
func TestLimitsAreTold(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.restartWith(func(cfg *config.Config) { cfg.Limits.Person = quotaOf(1, 0) })
		for range 3 {
			w.Command(connectortest.Ada, c.group, "ask", "question", "Hi")
			c.Pass(30 * time.Second)
			c.WaitIdle()
		}
		var b strings.Builder
		transcripts(&b, "Ada asks three times, and may once", w, c.group, len(w.Fake.PressAnswers()))
		golden.Check(t, "testdata/discord/limit.txt", b.String())
		if users := w.Fake.Thinking(string(c.group)); len(users) != 0 {
			t.Errorf("%d users see the bot think; want none", len(users))
		}
	})
}

// chooseScript is a call that offers n options.
func chooseScript(n int) modelfake.Script {
	var options []string
	for i := range n {
		options = append(options, fmt.Sprintf(`"Tea %d"`, i+1))
	}
	return modelfake.Script{modelfake.ToolCall("c", "CHOOSE_OPTION", `{"question":"Which tea?","options":[`+strings.Join(options, ",")+`]}`)}
}

// More than five options are a menu, and "Something else…" opens a modal, whose text is the user's next message.
func TestMenusAndModals(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		var b strings.Builder
		for _, options := range []int{5, 9} {
			room := connectortest.Room(w.Fake.AddChannel(w.Guild(), fmt.Sprint(options)))
			for _, word := range []string{"", "Rooibos, please, " + strings.Repeat("and a biscuit ", 250)} {
				c.model.Queue(chooseScript(options))
				w.Mention(connectortest.Ada, room, "Ask me")
				c.Pass(10 * time.Second)
				n := len(w.Fake.PressAnswers())
				transcripts(&b, fmt.Sprintf("%d options", options), w, room, n)
				if word == "" {
					w.Press(connectortest.Ada, room, options-1)
				} else {
					message := w.PressLabel(connectortest.Ada, room, "Something else…")
					c.Pass(time.Second)
					transcripts(&b, "Ada presses Something else…", w, room, n)
					c.restart()
					c.Pass(10 * time.Second)
					w.Write(connectortest.Ada, room, message, word)
				}
				c.Pass(20 * time.Second)
				c.WaitIdle()
				transcripts(&b, "Ada has chosen", w, room, n)
			}
		}
		golden.Check(t, "testdata/discord/menus.txt", b.String())
	})
}

// The words of a modal survive a store that stands still, and a second delivery; another user's are refused.
func TestModalThroughFaults(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.model.Queue(chooseScript(2))
		w.Mention(connectortest.Ada, c.group, "Ask me")
		c.Pass(10 * time.Second)
		message := w.PressLabel(connectortest.Bob, c.group, "Something else…")
		c.Pass(time.Second)
		w.Write(connectortest.Bob, c.group, message, "Coffee")
		c.Pass(time.Second)
		answers := w.Fake.PressAnswers()
		if last := answers[len(answers)-1]; last.Content != "This choice is not yours to make." || !last.Ephemeral {
			t.Errorf("Bob is told %+v", last)
		}
		c.stall(5 * time.Second)
		c.DeliverTwice(func() { w.Write(connectortest.Ada, c.group, message, "Rooibos") })
		c.Pass(20 * time.Second)
		c.WaitIdle()
		answers = w.Fake.PressAnswers()
		if last := answers[len(answers)-1]; last.Type != 6 || last.After > 3*time.Second {
			t.Errorf("Ada's modal was answered with %+v; want type 6 within 3s", last)
		}
		c.wantModelCalls(2)
		if got := c.modelRequest(1); strings.Count(got, "Rooibos") == 0 {
			t.Errorf("the model reads %s; want the words of the modal", got)
		}
	})
}

// "Ask about this" quotes a message of anyone, also after a restart, and "What do you know about me?" is only for oneself.
func TestContextMenus(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		var b strings.Builder
		about := func(what string, between func()) {
			w.Say(connectortest.Eve, c.group, "The "+what+" kettle boils at noon.")
			all, n := c.Messages(c.group), len(w.Fake.PressAnswers())
			if w.Fake.Menu(all[len(all)-1].ID, w.User(connectortest.Ada), "Ask about this") == "" {
				t.Fatal("the menu has no such command")
			}
			c.Pass(time.Second)
			transcripts(&b, "Ada asks about the "+what+" kettle", w, c.group, n)
			between()
			w.Write(connectortest.Ada, c.group, "", "When?")
			c.Pass(10 * time.Second)
			c.WaitIdle()
			transcripts(&b, "she is answered", w, c.group, n)
			if got := c.modelRequest(len(c.model.Requests()) - 1); !strings.Contains(got, "The "+what+" kettle boils at noon.") || !strings.Contains(got, "When?") {
				t.Errorf("the model reads %s; want the question with the quotation", got)
			}
		}
		about("red", func() {})
		about("blue", func() { c.crash(); c.start(); c.Pass(10 * time.Second) })
		for _, who := range []connectortest.User{connectortest.Ada, connectortest.Bob} {
			n := len(w.Fake.PressAnswers())
			w.Fake.UserMenu(string(c.group), w.User(connectortest.Ada), "What do you know about me?", w.User(who))
			c.Pass(10 * time.Second)
			transcripts(&b, fmt.Sprintf("Ada asks what it knows about %s", who), w, c.group, n)
		}
		golden.Check(t, "testdata/discord/context-menus.txt", b.String())
	})
}
