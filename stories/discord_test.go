package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord/discordfake"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

func onDiscord(t *testing.T, play func(*chatHarness, *discordworld.Platform)) {
	t.Helper()
	onPlatform(t, platforms()[1], nil, func(c *chatHarness) { play(c, c.Platform.(*discordworld.Platform)) })
}

// DR-14…DR-16, IN-04: however the gateway's connection ends in mid-conversation, what was written meanwhile is answered,
// once, and the answer under way goes on.
func TestDiscordReconnects(t *testing.T) {
	for name, end := range map[string]func(*discordfake.Server){
		"cut, resumed":           (*discordfake.Server).CutGateway,
		"asked to reconnect":     (*discordfake.Server).RequestReconnect,
		"closed, resumed":        func(f *discordfake.Server) { f.CloseGateway(4000) },
		"closed, not resumed":    func(f *discordfake.Server) { f.CloseGateway(4007) },
		"invalidated":            func(f *discordfake.Server) { f.InvalidateSessions(false) },
		"invalidated, resumable": func(f *discordfake.Server) { f.InvalidateSessions(true) },
		"cut, resume refused":    func(f *discordfake.Server) { f.RefuseResume(false); f.CutGateway() },
		"a zombie":               func(f *discordfake.Server) { f.DropAcks(2) },
		"events twice":           func(f *discordfake.Server) { f.DuplicateEvents(50) },
		"an event lost":          func(f *discordfake.Server) { f.OmitEvents(1); time.AfterFunc(time.Second, f.CutGateway) },
	} {
		t.Run(name, subtest.Of(onDiscord, func(c *chatHarness, w *discordworld.Platform) {
			bob := c.Direct(connectortest.Bob)
			c.Say(connectortest.Bob, bob, "Hi")
			c.wantShown(bob, "You said: Hi")
			c.model.Queue(slowScript(tale))
			c.Say(connectortest.Ada, c.ada, "Tell me")
			c.waitShown(c.ada, "Once upon a time")
			end(w.Fake)
			c.Say(connectortest.Bob, bob, "Are you there?")
			c.Pass(5 * time.Minute)
			c.wantShown(c.ada, tale)
			c.wantShown(bob, "You said: Hi", "You said: Are you there?")
			c.wantModelCalls(3)
			if n := w.Fake.Sessions(); n != 1 {
				c.Errorf("%d sessions; want 1", n)
			}
		}))
	}
}

// DR-09, SE-01, I11: no one is pinged, whatever the model writes.
func TestDiscordPingsNobody(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		_, ada, _ := strings.Cut(c.Account(connectortest.Ada), ":")
		c.model.Queue(slowScript("Attention, @everyone and @here, and you too, <@" + ada + ">: this is for all of you, is it not?"))
		c.Mention(connectortest.Bob, c.group, "shout")
		c.WaitIdle()
		if own := connectortest.BotTexts(c, c.group); len(own) != 1 {
			t.Errorf("people read %q; want 1", own)
		}
	})
}

// DR-03, DR-05: limits of every kind that only time mends.
func TestDiscordLimits(t *testing.T) {
	for name, f := range map[string]discordfake.Fault{
		"shared":     discordfake.TooManyRequests(discordfake.ScopeShared, 33*time.Second),
		"global":     discordfake.TooManyRequests(discordfake.ScopeGlobal, 33*time.Second),
		"headerless": discordfake.HeaderlessLimit(),
		"HTML":       discordfake.HTMLLimit(),
	} {
		t.Run(name, subtest.Of(onDiscord, func(c *chatHarness, w *discordworld.Platform) {
			w.Fake.Fault(discordfake.Match{Route: discordfake.EditMessage, Skip: 1}, f)
			c.model.Queue(slowScript(tale))
			c.Say(connectortest.Ada, c.ada, "Tell me")
			c.wantShown(c.ada, tale)
		}))
	}
}

// DR-01: a channel that takes far fewer edits than usual is edited as often as its replies say: no request is refused,
// by Discord or on its word, and the bot doesn't slow down further as after a refusal.
func TestDiscordEditsByTheHeaders(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		w.Fake.SetLimit(discordfake.EditMessage, discordfake.Limit{Requests: 2, Per: 10 * time.Second})
		c.model.Queue(modelfake.Script{modelfake.Pace(time.Second), modelfake.Text(tale+" "+tale, modelfake.ByWord)})
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.wantShown(c.ada, tale+" "+tale)
		m := c.Messages(c.ada)[1]
		took := m.Versions[len(m.Versions)-1].At.Sub(m.Versions[0].At)
		if fits := int(took/(10*time.Second)) * 2; len(m.Versions) < fits-1 || len(m.Versions) > fits+4 {
			t.Errorf("%d steps in %v", len(m.Versions), took)
		}
		if strings.Contains(c.Logged.String(), "asks to wait") {
			t.Errorf("a request was made too early:\n%s", c.Logged.String())
		}
	})
}

// A channel denies the bot a permission. The owner is told once which one, also after a crash; a further one is told then.
func TestDiscordMissingPermissions(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		ownedByAda(c)
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.WaitIdle()
		told := func(what string, want int) {
			t.Helper()
			n := 0
			for _, text := range connectortest.BotTexts(c, c.ada) {
				if strings.HasPrefix(text, "I lack permissions in ") && strings.Contains(text, " ("+what+").") {
					n++
				}
			}
			if n != want {
				t.Errorf("the owner was told %d times of %q, want %d: %q", n, what, want, connectortest.BotTexts(c, c.ada))
			}
		}
		c.forgotten = map[string]bool{"": true} // of refused answers nothing is shown
		w.Fake.Deny(string(c.group), discordfake.SendMessages)
		for range 2 {
			c.Mention(connectortest.Ada, c.group, "Are you there?")
			c.Pass(time.Minute)
			c.restart()
			c.Pass(10 * time.Second)
		}
		told("Send Messages", 1)
		w.Fake.Deny(string(c.group), discordfake.AddReactions)
		c.Pass(2 * time.Hour)
		c.Mention(connectortest.Ada, c.group, "And now?")
		c.Pass(time.Minute)
		told("Send Messages", 1)
		told("Send Messages, Add Reactions", 1)
	})
}

const blockedAnswer = "This server's AutoMod blocked my answer. Ask a moderator to exempt me, or rephrase your question."

// DR-27: an answer that AutoMod blocks, at once or while it grows, becomes one sentence, and its text is sent only once. The next
// answer is shown as ever.
func TestDiscordAutoMod(t *testing.T) {
	for name, script := range map[string]modelfake.Script{
		"at once":         {modelfake.Text("What a foul word.")},
		"while it grows":  {modelfake.Pace(200 * time.Millisecond), modelfake.Text(tale+" What a foul word. "+tale, modelfake.ByWord)},
		"in its end":      {modelfake.Pace(200 * time.Millisecond), modelfake.Text(tale+" What a foul", modelfake.ByWord)},
		"in several":      {modelfake.Text(strings.Repeat(tale+"\n\n", 20) + "What a foul word.")},
		"in the first of": {modelfake.Text("What a foul word.\n\n" + strings.Repeat(tale+"\n\n", 60))},
	} {
		t.Run(name, subtest.Of(onDiscord, func(c *chatHarness, w *discordworld.Platform) {
			w.Fake.AutoMod("foul")
			c.model.Queue(script)
			c.Mention(connectortest.Ada, c.group, "Tell me")
			c.WaitIdle()
			c.forgotten = map[string]bool{}
			for _, m := range c.Messages(c.group) {
				c.forgotten[m.ID] = m.ByBot
			}
			c.wantShown(c.group, blockedAnswer)
			refused := 0
			for _, r := range w.Fake.Log() {
				if r.Status == 400 && (r.Route == discordfake.CreateMessage || r.Route == discordfake.EditMessage) {
					refused++
				}
			}
			if refused != 1 || !strings.Contains(c.Logged.String(), "AutoMod blocked an answer") {
				c.Errorf("%d requests were refused", refused)
			}
			c.Mention(connectortest.Bob, c.group, "Hi")
			c.wantShown(c.group, blockedAnswer, "You said: Bob: Hi")
		}))
	}
}
