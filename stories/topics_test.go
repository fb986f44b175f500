package stories_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/golden"
	"parley/internal/subtest"
)

// withTopics runs a test on Telegram with topics in private chats, and a small model that gives titles.
func withTopics(t *testing.T, play func(*chatHarness, *telegramworld.Platform)) {
	t.Helper()
	onPlatform(t, platforms()[0], func(c *config.Config) { c.Models.Small.Model = "small-model" }, func(c *chatHarness) {
		w := c.Platform.(*telegramworld.Platform)
		w.Fake.UseTopics()
		c.shutdown()
		c.start()
		c.Pass(10 * time.Second)
		c.choose = titled("Depth of the Sea")
		play(c, w)
	})
}

// Each topic of a private chat is a conversation of its own. A topic that a client has named gets a title of the small model, one that its
// user has named keeps the name, and /new opens another one.
func TestTelegramTopicsTranscript(t *testing.T) {
	withTopics(t, func(c *chatHarness, w *telegramworld.Platform) {
		chat := telegramworld.Chat(c.ada)
		say := func(topic int, text string) {
			w.SayInTopic(connectortest.Ada, chat, topic, text)
			c.Pass(time.Minute)
			c.WaitIdle()
		}
		say(w.Fake.AddUntitledTopic(chat), "How deep is the sea?")
		mine := w.Fake.AddTopic(chat, "Recipes")
		say(mine, "What do you bake?")
		c.Say(connectortest.Ada, c.ada, "And without a topic?")
		c.Pass(time.Minute)
		say(mine, "/new")
		third := 0
		for id, name := range w.Fake.Topics(chat) {
			if name == "New conversation" {
				third = id
			}
		}
		c.choose = titled("The Lake")
		say(third, "How deep is the lake?")
		if p := c.modelRequest(len(c.model.Requests()) - 2); strings.Contains(p, "bake") {
			t.Errorf("the prompt holds what was said in another topic: %s", p)
		}
		golden.Check(t, "testdata/telegram/topics.txt", w.Fake.Transcript(chat))
	})
}

// /new opens one topic, although its update comes twice, and although the store refuses it at first.
func TestTelegramNewOpensOneTopic(t *testing.T) {
	for name, say := range map[string]func(c *chatHarness){
		"twice": func(c *chatHarness) { c.DeliverTwice(func() { c.Say(connectortest.Ada, c.ada, "/new") }) },
		"stalled": func(c *chatHarness) {
			c.stall(30 * time.Second)
			c.Say(connectortest.Ada, c.ada, "/new")
		},
	} {
		t.Run(name, subtest.Of(withTopics, func(c *chatHarness, w *telegramworld.Platform) {
			say(c)
			c.Pass(2 * time.Minute)
			c.WaitIdle()
			if topics := w.Fake.Topics(telegramworld.Chat(c.ada)); len(topics) != 1 {
				c.Errorf("%d topics; want 1", len(topics))
			}
			c.wantShown(c.ada, "This is a new conversation. What would you like to talk about?")
		}))
	}
}

// A topic, its title and the reactions use the budget of their chat: no request is refused for its rate, and the answer appears at once.
func TestTelegramTopicsWithinTheBudget(t *testing.T) {
	for name, edit := range map[string]func(*telegram.Config){
		"reactions": func(c *telegram.Config) { c.Reactions = true }, "drafts": func(c *telegram.Config) { c.Streaming = telegram.StreamDrafts },
	} {
		t.Run(name, func(t *testing.T) {
			onPlatform(t, platforms()[0], func(c *config.Config) {
				c.Models.Small.Model = "small-model"
				edit(configtest.Section[telegram.Config](c.Connectors))
			}, func(c *chatHarness) {
				w := c.Platform.(*telegramworld.Platform)
				w.Fake.UseTopics()
				c.shutdown()
				c.start()
				c.Pass(10 * time.Second)
				c.choose = titled("Depth of the Sea")
				chat, topic := telegramworld.Chat(c.ada), 0
				for range 3 {
					c.Say(connectortest.Ada, c.ada, "/new")
					c.Pass(2 * time.Second)
					for id := range w.Fake.Topics(chat) {
						topic = max(topic, id)
					}
					w.SayInTopic(connectortest.Ada, chat, topic, "How deep is the sea?")
					c.Pass(2 * time.Second)
				}
				c.Pass(30 * time.Second)
				c.WaitIdle()
				if n := len(w.Fake.Topics(chat)); n != 3 {
					t.Errorf("%d topics; want 3", n)
				}
				for _, q := range w.Fake.Log() {
					if q.Status == http.StatusTooManyRequests {
						t.Errorf("%s was refused for its rate", q.Method)
					}
				}
			})
		})
	}
}

// In a chat that is closed for long, /new waits for no permit: it concerns the current conversation, and nothing behind it waits.
func TestTelegramNewInAClosedChat(t *testing.T) {
	withTopics(t, func(c *chatHarness, w *telegramworld.Platform) {
		w.Fake.Fault(telegramfake.Fault{Method: "sendMessage", Status: 429, Body: `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 7200","parameters":{"retry_after":7200}}`})
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "/new")
		c.Pass(20 * time.Second)
		c.Say(connectortest.Ada, c.ada, "Still there?")
		c.Pass(20 * time.Second)
		for _, q := range w.Fake.Log() {
			if q.Method == "createForumTopic" {
				t.Error("a topic was asked for while the chat was closed")
			}
		}
		c.Pass(3 * time.Hour)
		c.WaitIdle()
		if own := connectortest.BotTexts(c, c.ada); len(own) < 2 {
			t.Errorf("the chat shows %q", own)
		}
	})
}

// Where Telegram refuses a topic, /new asks whether to forget the conversation, as without topics.
func TestTelegramNewWithoutTopics(t *testing.T) {
	withTopics(t, func(c *chatHarness, w *telegramworld.Platform) {
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.Pass(time.Minute)
		w.Fake.Fault(telegramfake.Fault{Method: "createForumTopic", Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: not enough rights"}`})
		c.Say(connectortest.Ada, c.ada, "/new")
		c.Pass(time.Minute)
		c.WaitIdle()
		if own := connectortest.BotTexts(c, c.ada); !strings.HasPrefix(own[len(own)-1], "Forget this conversation?") {
			t.Errorf("the chat shows %q", own)
		}
	})
}

// The topics of a forum: the name of a topic is context, General is the forum itself with or without its number, and a reply to a message
// in another topic brings the text along.
func TestTelegramForumTranscript(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		forum := w.Fake.AddSupergroup("Forum", true)
		place := connectortest.Room(strconv.FormatInt(forum.ID, 10))
		ask := func(text string, with ...telegramfake.SayOption) telegramfake.Message {
			m := w.Send(connectortest.Ada, place, w.Mentioning(text), with...)
			c.Pass(time.Minute)
			c.WaitIdle()
			return m
		}
		wiring, paint := w.Fake.AddTopic(forum, "Wiring"), w.Fake.AddTopic(forum, "Paint")
		loose := ask("Which wire is loose?", telegramfake.InTopic(wiring))
		c.wantPrompt("Which wire is loose?", `thread chat \"Wiring\" on telegram, in \"Forum\"`)
		ask("Hello")
		ask("Hello again", telegramfake.With(map[string]any{"message_thread_id": 1, "is_topic_message": true}))
		c.wantPrompt("Hello again", "You said: Ada: @"+w.Fake.Bot().Username+" Hello")
		ask("Is it red?", telegramfake.InTopic(paint), telegramfake.With(map[string]any{"external_reply": map[string]any{
			"origin": map[string]any{"type": "user", "date": 1, "sender_user": loose.From}, "chat": forum, "message_id": loose.ID,
		}}))
		c.wantPrompt("Is it red?", "[In reply to a message from Ada: @"+w.Fake.Bot().Username+" Which wire is loose?]")
		golden.Check(t, "testdata/telegram/forum.txt", w.Fake.Transcript(forum))
	})
}
