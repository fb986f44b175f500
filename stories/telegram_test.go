package stories_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram/telegramfake"

	"parley/core/chat"
	"parley/internal/golden"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
	"parley/progressive"
)

func onTelegram(t *testing.T, play func(*chatHarness, *telegramworld.Platform)) {
	t.Helper()
	onPlatform(t, platforms()[0], nil, func(c *chatHarness) { play(c, c.Platform.(*telegramworld.Platform)) })
}

// The buttons of an approval have colors, in the whole gateway, also after a restart.
func TestTelegramApprovalColors(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		withShop(c, nil)
		c.queueCall("shop__order", `{"item":"tea"}`, "Tea is on its way.")
		c.Say(connectortest.Ada, c.ada, "Order tea")
		c.waitShown(c.ada, `{"item":"tea"}`)
		for range 2 {
			c.Pass(time.Minute)
			var styles []string
			for _, m := range w.Fake.Messages(telegramworld.Chat(c.ada)) {
				for _, b := range m.Buttons() {
					styles = append(styles, b.Style)
				}
			}
			if !slices.Equal(styles, []string{"success", "success", "danger"}) {
				t.Errorf("the buttons are %q", styles)
			}
			c.shutdown()
			c.start()
		}
		c.Pass(10 * time.Second)
		c.pressIn(c.Platform.(buttonPlatform))(0)
		c.waitShown(c.ada, "Tea is on its way.")
		all := w.Fake.Messages(telegramworld.Chat(c.ada))
		if b := all[len(all)-1].Buttons(); len(b) != 1 || b[0].Disabled == nil || b[0].Text != "Once" || b[0].Style != "success" || b[0].Data != "" {
			t.Errorf("the buttons after the choice are %+v", b)
		}
	})
}

// In a group, the answer to /usage is for its author alone, also if the process dies before or after it is sent.
func TestTelegramEphemeralUsage(t *testing.T) {
	for _, crash := range []string{"never", "before", "after"} {
		t.Run(crash, subtest.Of(onTelegram, func(c *chatHarness, w *telegramworld.Platform) {
			switch crash {
			case "before": // it is not sent until then
				w.InjectFault(connectortest.Fault{Op: progressive.Post, In: c.group, Dropped: true})
			case "after": // it is unknown whether it was sent
				c.allowedOrphans = 1
				w.InjectFault(connectortest.Fault{Op: progressive.Post, In: c.group, Mute: time.Minute})
			}
			w.SayEphemeral(connectortest.Ada, c.group, "/usage")
			if crash != "never" {
				c.Pass(time.Second)
				c.crash()
				w.ClearFaults()
				c.start()
			}
			c.Pass(time.Minute)
			var private, public int
			for _, m := range w.Fake.Messages(telegramworld.Chat(c.group)) {
				switch {
				case m.From.ID != w.Fake.Bot().ID:
				case m.Receiver != 0:
					private++
				default:
					public++
					c.forgotten = map[string]bool{fmt.Sprintf("%d/%d", m.Chat, m.ID): true} // it says something else
					if strings.Contains(m.Text, "message") {
						c.Errorf("everyone reads %q", m.Text)
					}
				}
			}
			if private != map[bool]int{true: 0, false: 1}[crash == "before"] || public != map[bool]int{true: 0, false: 1}[crash == "never"] {
				c.Errorf("%d private and %d public answers", private, public)
			}
		}))
	}
}

// Every command has a transcript in a group: those about the user are ephemeral, as clients send them, and so are their answers.
func TestTelegramCommandTranscripts(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		var b strings.Builder
		for _, command := range chat.Commands() {
			if slices.Contains([]chat.CommandName{chat.LinkCommand, chat.UnlinkCommand, chat.AdminCommand}, command.Name) {
				continue // not in the menus of groups
			}
			group := w.Fake.AddSupergroup(string(command.Name), false)
			place := connectortest.Room(strconv.FormatInt(group.ID, 10))
			if says := "/" + string(command.Name); command.Private {
				w.SayEphemeral(connectortest.Ada, place, says)
			} else {
				w.Mention(connectortest.Ada, place, says)
			}
			c.Pass(20 * time.Second)
			c.WaitIdle()
			fmt.Fprintf(&b, "== /%s\n%s\n", command.Name, w.Fake.Transcript(group))
		}
		golden.Check(t, "testdata/telegram/commands.txt", b.String())
	})
}

// A user who wants that hears answers in direct chats, beside their text. A failure of the speech model, and a long answer, leave the text alone.
func TestTelegramSpokenAnswers(t *testing.T) {
	onPlatform(t, platforms()[0], func(c *config.Config) { c.Models.Speech.Model = "voice" }, func(c *chatHarness) {
		w := c.Platform.(*telegramworld.Platform)
		voices := func() (n int) {
			for _, m := range w.Fake.Messages(telegramworld.Chat(c.ada)) {
				if m.Upload != nil && m.Upload.Method == "sendVoice" {
					if n++; m.Upload.Caption != "Second." {
						t.Errorf("the voice message has the caption %q", m.Upload.Caption)
					}
				}
			}
			return n
		}
		for _, step := range []struct {
			says, answer, wants string
			fails               bool
			voices              int
		}{
			{"one", "First.", "First", false, 0},
			{"/voice", "", "/voice on", false, 0},
			{"/voice on", "", "/voice off", false, 0},
			{"two", "Second.", "Second", false, 1},
			{"three", "Third.", "Third", true, 1},
			{"four", strings.Repeat("Fourth. ", 200), "Fourth", false, 1},
			{"/voice off", "", "write", false, 1},
			{"five", "Fifth.", "Fifth", false, 1},
		} {
			if step.answer != "" {
				c.model.Queue(modelfake.Script{modelfake.Text(step.answer)})
			}
			if step.fails {
				c.model.QueueFor(modelfake.Speech, modelfake.Script{modelfake.Text("no sound")})
			}
			c.Say(connectortest.Ada, c.ada, step.says)
			c.Pass(20 * time.Second)
			if got := strings.Join(connectortest.BotTexts(c, c.ada), "\n"); !strings.Contains(got, step.wants) {
				t.Errorf("after %q the chat has %q", step.says, got)
			}
			if got := voices(); got != step.voices {
				t.Errorf("after %q there are %d voice messages; want %d", step.says, got, step.voices)
			}
		}
		for _, u := range c.model.Uses() {
			if u.Endpoint == modelfake.Speech && u.Prompt == "Second." {
				return
			}
		}
		t.Errorf("the model spoke %+v", c.model.Uses())
	})
}

// A process that sends the voice message of an earlier one shows its caption, too.
func TestTelegramVoiceAfterCrash(t *testing.T) {
	onPlatform(t, platforms()[0], func(c *config.Config) { c.Models.Speech.Model = "voice" }, func(c *chatHarness) {
		w := c.Platform.(*telegramworld.Platform)
		c.Say(connectortest.Ada, c.ada, "/voice on")
		c.Pass(10 * time.Second)
		w.Fake.Fault(telegramfake.Fault{Method: "sendVoice", RetryAfter: 30})
		c.model.Queue(modelfake.Script{modelfake.Text("First. Second.")})
		c.Say(connectortest.Ada, c.ada, "one")
		c.Pass(10 * time.Second)
		c.restart()
		c.Pass(time.Minute)
		var said []string
		for _, m := range w.Fake.Messages(telegramworld.Chat(c.ada)) {
			if m.Upload != nil && m.Upload.Method == "sendVoice" {
				said = append(said, m.Upload.Caption)
			}
		}
		if !slices.Equal(said, []string{"First."}) {
			t.Errorf("the voice messages have the captions %q", said)
		}
		if n := len(c.model.Uses()); n != 1 {
			t.Errorf("the model spoke %d times", n)
		}
	})
}

// IN-01: what the server did not hear to be safe comes again, also to the next life.
func TestTelegramTellsAgainAfterCrash(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.wantShown(c.ada, "You said: Hi")
		last := w.Fake.Updates()[0].ID
		c.crash()
		w.Fake.Redeliver(last)
		c.start()
		c.Pass(time.Minute)
		c.Say(connectortest.Ada, c.ada, "Are you there?")
		c.wantShown(c.ada, "You said: Hi", "You said: Are you there?")
		c.wantModelCalls(2)
	})
}

// TR-19: another process polls for a while. Nothing is lost, nothing is answered twice.
func TestTelegramPollConflict(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		client := &http.Client{Transport: &http.Transport{DialContext: c.net.Dial, DisableKeepAlives: true}}
		for n := range 4 {
			ctx, cancel := context.WithTimeout(c.Context(), 5*time.Second)
			req := require.Value(http.NewRequestWithContext(ctx, http.MethodGet, "http://telegram.test/bot"+w.Fake.Token()+"/getUpdates?timeout=5", nil))(c)
			if n == 1 {
				c.Say(connectortest.Ada, c.ada, "Hi")
			}
			if resp, err := client.Do(req); err == nil {
				c.Must(resp.Body.Close())
			}
			cancel()
		}
		c.Pass(5 * time.Minute)
		c.wantShown(c.ada, "You said: Hi")
		if !strings.Contains(c.Logged.String(), "another process") {
			t.Error("the log does not name the other process; want a notice")
		}
	})
}

// TR-24: the group gets another id in mid-answer. The answer goes on there, and the room remembers.
func TestTelegramMigration(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		c.model.Queue(slowScript(tale))
		c.Mention(connectortest.Ada, c.group, "tell us a tale")
		c.waitShown(c.group, "Once upon a time")
		old := c.group
		w.Migrate()
		c.group = c.Group()
		c.wantShown(c.group, tale)
		if left := connectortest.BotTexts(c, old); len(left) != 1 || !strings.HasPrefix(tale, left[0]) {
			t.Errorf("under its old id the group reads %q", left)
		}
		c.allowedOrphans = 1 // messages do not move
		c.Mention(connectortest.Bob, c.group, "and now?")
		c.WaitIdle()
		if p := c.modelRequest(1); !strings.Contains(p, "Once upon a time") {
			t.Errorf(`the room forgot: %s; want it to contain "Once upon a time"`, p)
		}
	})
}

// TR-09, TR-11: markup that the server refuses is sent as plain words.
func TestTelegramMarkupRefused(t *testing.T) {
	for _, op := range []progressive.Op{progressive.Post, progressive.Edit} {
		t.Run(op.String(), subtest.Of(onTelegram, func(c *chatHarness, w *telegramworld.Platform) {
			c.InjectFault(connectortest.Fault{Op: op, Markup: true})
			c.model.Queue(slowScript("**" + tale + "**"))
			c.Say(connectortest.Ada, c.ada, "Tell me")
			c.wantShown(c.ada, tale)
		}))
	}
}

// TR-30: a token that was withdrawn ends the connector, and nothing else. The log says what to do.
func TestTelegramRevoked(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		ownedByAda(c)
		ada := c.logIn(connectortest.Ada)
		shown := func(want, healthy string) {
			t.Helper()
			if _, said := c.readyz(); said != want {
				t.Errorf("/readyz answers %q; want %q", said, want)
			}
			if page := ada.get("/health"); !strings.Contains(page, healthy) {
				t.Errorf("the page does not contain %q: %s", healthy, page)
			}
		}
		shown("ready\n", ">telegram</td>\n<td data-label=\"State\" class=\"good\">ok<")
		shown("ready\n", `<td data-label="Connections">telegram</td>`)
		w.Fake.Fault(telegramfake.Fault{Method: "getUpdates", Drop: true, Times: -1})
		c.Pass(2 * time.Minute)
		shown("ready, with limits: the bot on Telegram is not connected\n", `class="bad">the bot on Telegram is not connected<`)
		w.Fake.ClearFaults()
		c.Pass(2 * time.Minute)
		shown("ready\n", ">telegram</td>\n<td data-label=\"State\" class=\"good\">ok<")
		w.Fake.Revoke()
		c.forgotten = map[string]bool{"": true} // the notice for the owner, whose only direct chat is there
		c.Pass(10 * time.Minute)
		shown("ready, with limits: telegram has stopped, and the log says why\n", `class="bad">telegram has stopped, and the log says why<`)
		made := len(w.Fake.Log())
		c.Pass(time.Hour)
		if more := len(w.Fake.Log()) - made; more != 0 {
			t.Errorf("%d more requests; want none", more)
		}
		if !strings.Contains(c.Logged.String(), "@BotFather") {
			t.Error("the log does not name @BotFather; want a notice")
		}
		conv := c.newConversation()
		if got := *c.readAll(c.send(conv, "m1", "Hi")).FullText; got != "You said: Hi" {
			t.Errorf(`on the web the answer is %q; want "You said: Hi"`, got)
		}
	})
}

// TR-02, TR-25: the topics of a forum are rooms of their own, and share one budget.
func TestTelegramTopics(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		forum := w.Fake.AddSupergroup("Forum", true)
		bot := w.Fake.Bot().Username
		for n := range 3 {
			c.model.Queue(slowScript(tale))
			w.SayInTopic(connectortest.Ada, forum, w.Fake.AddTopic(forum, fmt.Sprint(n)), fmt.Sprintf("@%s topic %d", bot, n))
		}
		place := c.Rooms()[0]
		c.wantShown(place, tale, tale, tale)
		for n := range 3 {
			if p := c.modelRequest(n); strings.Count(p, "topic ") != 1 {
				t.Errorf("a prompt holds what was said in other topics: %s", p)
			}
		}
	})
}

// The topic of a private chat is deleted in mid-answer, with all messages in it: the answer continues in the chat without the topic.
func TestTelegramTopicDeleted(t *testing.T) {
	long := strings.Repeat("All day long it will rain. ", 250) + "The end."
	for name, text := range map[string]string{"one message": tale, "several messages": long} {
		t.Run(name, subtest.Of(onTelegram, func(c *chatHarness, w *telegramworld.Platform) {
			chat := telegramworld.Chat(c.ada)
			topic := w.Fake.AddTopic(chat, "Rain")
			c.model.Queue(slowScript(text))
			w.SayInTopic(connectortest.Ada, chat, topic, "Tell me")
			c.waitShown(c.ada, strings.Join(strings.Fields(text)[:12], " "))
			w.Fake.DeleteTopic(chat, topic)
			c.WaitIdle()
			shown := strings.Join(connectortest.BotTexts(c, c.ada), " ")
			if !strings.HasSuffix(shown, text[len(text)-40:]) || !strings.Contains(text, shown) {
				c.Errorf("the chat shows %q", shown)
			}
		}))
	}
}

// Telegram tells of a reaction in the chat alone, without the topic. One to an answer belongs to the answer's topic; one to a message that
// is not known belongs to none, also if General is known.
func TestTelegramReactionInTopic(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		forum := w.Fake.AddSupergroup("Forum", true)
		bot := w.Fake.Bot().Username
		cats, dogs := w.Fake.AddTopic(forum, "cats"), w.Fake.AddTopic(forum, "dogs")
		topics := []int{0, cats, dogs} // 0 is General
		ask := func(n int, text string) {
			if topics[n] == 0 {
				w.Mention(connectortest.Ada, c.Rooms()[0], text)
			} else {
				w.SayInTopic(connectortest.Ada, forum, topics[n], fmt.Sprintf("@%s %s", bot, text))
			}
			c.WaitIdle()
		}
		for _, n := range []int{1, 2, 0} {
			ask(n, fmt.Sprint("topic ", n))
		}
		place := c.Rooms()[0]
		own := 0
		for _, m := range w.Messages(place) {
			if m.ByBot && strings.Contains(m.Text, "topic 1") {
				own++
				w.React(connectortest.Ada, place, m, "👍", true)
			}
		}
		w.Fake.React(telegramfake.Message{Chat: forum.ID, ID: 9999}, telegramfake.User{ID: 77, FirstName: "Eve"}, nil, []string{"🔥"})
		c.WaitIdle()
		for n := range topics {
			ask(n, "again")
			p := c.modelRequest(3 + n)
			if has := strings.Contains(p, "Added 👍 to your answer"); has != (n == 1) || strings.Contains(p, "👍") != has || strings.Contains(p, "🔥") {
				t.Errorf("%d answers; the prompt of topic %d is %s", own, n, p)
			}
		}
	})
}

// SE-21, SE-01, I11: no one is notified, whatever the model writes: by name, in pieces, in edits, in
// plain text.
func TestTelegramPingsNobody(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		text := "Attention, @everyone_here and @durov: **@**durov, .@durov, @**durov**, " +
			"http://intranet/@durov, `@durov` and mail@durov.example: is this for you?"
		c.model.Queue(slowScript(text))
		c.Mention(connectortest.Ada, c.group, "shout")
		c.WaitIdle()
		own := connectortest.BotTexts(c, c.group)
		if len(own) != 1 || !strings.Contains(own[0], "mail@durov.example") {
			t.Errorf("people read %q", own)
		}
		c.InjectFault(connectortest.Fault{Op: progressive.Post, Markup: true})
		c.model.Queue(modelfake.Script{modelfake.Text("And @durov, in plain words")})
		c.Mention(connectortest.Ada, c.group, "again")
		c.WaitIdle()
		if n := len(w.Fake.Pings()); n != 0 {
			t.Errorf("%d people were notified; want none", n)
		}
	})
}
