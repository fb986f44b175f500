package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram"
	"parley/connectors/telegram/telegramfake"
	"parley/models/modelfake"
)

// withDrafts plays on Telegram with drafts, and with buttons below answers. Unless fallback, no answer may grow in messages.
func withDrafts(t *testing.T, fallback bool, play func(c *chatHarness, fake *telegramfake.Server, ada telegramfake.Chat)) {
	t.Helper()
	stream := func(cfg *config.Config) {
		configtest.Section[telegram.Config](cfg.Connectors).Streaming = telegram.StreamDrafts
		cfg.Turns.Buttons = true // the default
	}
	onPlatform(t, platforms()[0], stream, func(c *chatHarness) {
		fake, ada := c.Platform.(*telegramworld.Platform).Fake, telegramworld.Chat(c.ada)
		play(c, fake, ada)
		edited := slices.ContainsFunc(fake.Log(), func(r telegramfake.Request) bool { return r.Method == "editMessageText" && r.Chat == ada.ID })
		fell := false
		for line := range strings.Lines(c.Logged.String()) { // a process that is dead has no connection
			fell = fell || strings.Contains(line, "drafts can't be shown") && !strings.Contains(line, "has lost its lease")
		}
		if fell != fallback || edited != fallback {
			t.Errorf("fallback %t, edits %t; want %t", fell, edited, fallback)
		}
	})
}

// waitDraft waits for a draft with part in Ada's chat.
func (c *chatHarness) waitDraft(fake *telegramfake.Server, part string) telegramfake.Draft {
	c.Helper()
	for range 3000 {
		for _, d := range fake.Drafts(telegramworld.Chat(c.ada)) {
			if strings.Contains(d.Text, part) && (part != "" || d.Text == "") {
				return d
			}
		}
		c.Pass(100 * time.Millisecond)
	}
	c.Fatalf("no draft has %q", part)
	return telegramfake.Draft{}
}

// TR-13: an answer is a draft from the first thought on, with a Stop button, and then one message.
func TestTelegramDrafts(t *testing.T) {
	withDrafts(t, false, func(c *chatHarness, fake *telegramfake.Server, ada telegramfake.Chat) {
		c.model.Queue(append(modelfake.Script{modelfake.Pause(8 * time.Second)}, slowScript(tale)...))
		c.Say(connectortest.Ada, c.ada, "Tell me a tale")
		if d := c.waitDraft(fake, ""); !d.CanStop {
			t.Error("the first draft has no Stop button")
		}
		d := c.waitDraft(fake, "Once upon a time")
		if !d.CanStop || len(connectortest.BotTexts(c, c.ada)) > 0 {
			t.Errorf("while it grows: %+v", d)
		}
		c.wantShown(c.ada, tale)
		all := fake.AllDrafts(ada)
		if len(all) != 1 || all[0].Removed.IsZero() || all[0].Versions < 5 {
			t.Errorf("the drafts were %+v; want one that became the message", all)
		}
		if got := c.Platform.(buttonPlatform).Buttons(c.ada); !slices.Equal(got, []string{"Retry"}) {
			t.Errorf("the buttons below the answer are %q; want Retry", got)
		}
		c.model.Queue(slowScript(tale))
		c.Mention(connectortest.Ada, c.group, "and here?")
		c.wantShown(c.group, tale)
		if len(fake.AllDrafts(telegramworld.Chat(c.group))) > 0 {
			t.Error("the group has drafts")
		}
	})
}

// TR-15: the Stop button of a draft ends this answer, and no other one. Its text stays as a message.
func TestTelegramDraftStopped(t *testing.T) {
	withDrafts(t, false, func(c *chatHarness, fake *telegramfake.Server, ada telegramfake.Chat) {
		c.model.Queue(slowScript(tale))
		c.Mention(connectortest.Ada, c.group, "tell us a tale")
		c.waitShown(c.group, "Once upon a time")
		c.model.Queue(slowScript(tale))
		c.Say(connectortest.Ada, c.ada, "Tell me a tale")
		d := c.waitDraft(fake, "Once upon a time")
		fake.StopDraft(ada, d)
		c.Pass(5 * time.Second)
		own := connectortest.BotTexts(c, c.ada)
		if len(own) != 1 || !strings.HasPrefix(own[0], "Once upon a time") || strings.Contains(own[0], "saying one twice") {
			t.Errorf("after the stop Ada reads %q", own)
		}
		c.wantShown(c.group, tale)
		fake.Redeliver(lastUpdate(fake, "stopped_message_generation")) // of an answer that has ended
		c.Say(connectortest.Ada, c.ada, "And now?")
		c.waitShown(c.ada, "You said: And now?")
	})
}

func lastUpdate(fake *telegramfake.Server, kind string) (id int64) {
	for _, u := range fake.Updates() {
		if u.Kind == kind {
			id = u.ID
		}
	}
	return id
}

// A message in the chat removes the draft, which is there again at once.
func TestTelegramDraftBelowMessages(t *testing.T) {
	withDrafts(t, false, func(c *chatHarness, fake *telegramfake.Server, ada telegramfake.Chat) {
		c.model.Queue(modelfake.Script{modelfake.Text("A beginning of some words."), modelfake.Pause(8 * time.Second), modelfake.Text(" The end.")})
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.waitDraft(fake, "A beginning")
		c.Say(connectortest.Ada, c.ada, "/usage")
		c.Pass(2 * time.Second)
		c.waitDraft(fake, "A beginning")
		c.waitShown(c.ada, "The end.")
		if n := len(fake.AllDrafts(ada)); n < 2 { // removed by the command and by its answer, which can come before it appears again
			t.Errorf("the draft appeared %d times; want at least 2", n)
		}
	})
}

// A process that dies while it shows a draft leaves nothing behind: the next one shows the answer once.
func TestTelegramDraftCrash(t *testing.T) {
	for _, at := range []time.Duration{0, 300 * time.Millisecond, 900 * time.Millisecond, 3 * time.Second} {
		withDrafts(t, false, func(c *chatHarness, fake *telegramfake.Server, ada telegramfake.Chat) {
			c.model.Queue(slowScript(tale), slowScript(tale))
			c.Say(connectortest.Ada, c.ada, "Tell me a tale")
			c.waitDraft(fake, "Once upon")
			c.Pass(at)
			c.crash()
			c.Pass(40 * time.Second)
			if d := fake.Drafts(ada); len(d) > 0 || len(connectortest.BotTexts(c, c.ada)) > 0 {
				t.Errorf("left behind: %+v", d)
			}
			c.start()
			c.wantShown(c.ada, tale)
		})
	}
}

// Answers grow in messages where the server refuses drafts. It is asked once.
func TestTelegramDraftsRefused(t *testing.T) {
	for _, f := range []telegramfake.Fault{
		{Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: TEXTDRAFT_PEER_INVALID"}`},
		{Status: 404, Body: `{"ok":false,"error_code":404,"description":"Not Found: method not found"}`},
	} {
		withDrafts(t, true, func(c *chatHarness, fake *telegramfake.Server, ada telegramfake.Chat) {
			f.Method, f.Times = "sendMessageDraft", -1
			fake.Fault(f)
			for range 2 {
				c.model.Queue(slowScript(tale))
				c.Say(connectortest.Ada, c.ada, "Tell me a tale")
				c.Pass(4 * time.Second)
				if got := c.Platform.(buttonPlatform).Buttons(c.ada); len(got) == 0 || got[len(got)-1] != "Stop" {
					t.Errorf("the buttons while the message grows are %q; want Stop", got)
				}
				c.waitShown(c.ada, "without losing one")
				c.WaitIdle()
			}
			c.wantShown(c.ada, tale, tale)
			asked := 0
			for _, r := range fake.Log() {
				if r.Method == "sendMessageDraft" {
					asked++
				}
			}
			if asked != 1 && asked != 2 { // by the indicator and by the answer at the same time
				t.Errorf("%d drafts were tried", asked)
			}
		})
	}
}
