package stories_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

// groupPlatform is what the worlds of the platforms have besides the methods that all platforms share.
type groupPlatform interface {
	Undelivered(from connectortest.User, in connectortest.Room, text string, f connectortest.File) connectortest.Message // a file of which the bot is not told
	Mentioning(text string) string
}

// queueAnswers queues answers of the model.
func (s *harness) queueAnswers(texts ...string) {
	for _, t := range texts {
		s.model.Queue(modelfake.Script{modelfake.Text(t)})
	}
}

// A file that was sent when the bot was not told is read and seen when a user replies to it, like one of the user's own: a picture, a
// document, and a voice message, whose words are not the user's. A reply to the same again reads it only once.
func TestReplyToUnheardFile(t *testing.T) {
	look := "<response><title>A cat</title><description>A cat on a sofa.</description></response>"
	for name, f := range map[string]struct {
		file       connectortest.File
		what, says string
	}{
		"picture":  {photo(), "a photo", "A cat on a sofa."},
		"document": {connectortest.File{Name: "plan.md", Type: "text/markdown", Data: []byte("Buy tea.")}, "a file", "Buy tea."},
		"voice":    {spoken(), "a voice message", "Meet me at six."},
	} {
		t.Run(name, subtest.With(onEachPlatform, withSenses, func(c *chatHarness) {
			p := c.Platform.(groupPlatform)
			switch name {
			case "picture":
				c.queueAnswers(look)
			case "voice":
				c.model.QueueFor(modelfake.Transcriptions, modelfake.Script{modelfake.Text("Meet me at six.")})
			}
			c.queueAnswers("I see.", "As before.")
			posted := p.Undelivered(connectortest.Bob, c.group, "", f.file)
			for range 2 {
				c.Reply(connectortest.Ada, c.group, posted, p.Mentioning("what is it?"))
				c.WaitIdle()
				told := c.lastPromptText()
				if !strings.Contains(told, "[In reply to "+f.what) || !strings.Contains(told, " from Bob]") {
					c.Errorf("the prompt does not say what the reply is to: %s", told)
				}
				if !strings.Contains(told, "of the message replied to: ") || !strings.Contains(told, "  "+f.says) {
					c.Errorf("the prompt lacks the file: %s", told)
				}
			}
			if n := len(c.requestsTo(eyes)) + len(c.requestsTo(ears)); n > 1 {
				c.Errorf("it was read %d times; want at most 1", n)
			}
			c.wantShown(c.group, "I see.", "As before.")
		}))
	}
}

// A model that sees is shown the picture that a user replies to. One that the bot has received is shown once.
func TestReplyToPictureIsShown(t *testing.T) {
	for _, heard := range []bool{false, true} {
		t.Run(fmt.Sprint("heard ", heard), subtest.With(onEachPlatform, func(cfg *config.Config) { cfg.Models.Large.Vision = new(true) }, func(c *chatHarness) {
			c.queueAnswers("A square.")
			p := c.Platform.(groupPlatform)
			var posted connectortest.Message
			if heard {
				posted = c.sendUnmentioned(connectortest.Bob, c.group, photo())
			} else {
				posted = p.Undelivered(connectortest.Bob, c.group, "", photo())
			}
			c.Reply(connectortest.Ada, c.group, posted, p.Mentioning("what is on this photo?"))
			c.WaitIdle()
			all := c.model.Requests()
			if n := strings.Count(string(all[len(all)-1].Raw), "image_url"); n != 2 { // its type, and the field
				c.Errorf("the model was shown %d pictures: %s", n/2, all[len(all)-1].Raw)
			}
		}))
	}
}

// sendUnmentioned has from send a file into a group without a mention.
func (c *chatHarness) sendUnmentioned(from connectortest.User, in connectortest.Room, f connectortest.File) connectortest.Message {
	switch w := c.Platform.(type) {
	case *telegramworld.Platform:
		w.Attach(from, in, f)
	case *discordworld.Platform:
		w.Attach(from, in, f)
	}
	c.WaitIdle()
	all := c.Messages(in)
	return all[len(all)-1]
}

// Every kind of message in a direct chat is answered.
func TestDirectChatAnswersEverything(t *testing.T) {
	file := func(kind string) map[string]any {
		f := map[string]any{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1, "length": 1, "duration": 1}
		if kind == "photo" {
			return map[string]any{kind: []any{f}}
		}
		return map[string]any{kind: f}
	}
	some := map[string]any{"title": "t", "text": "t", "emoji": "🎲", "value": 3, "latitude": 1, "longitude": 2, "question": "q", "first_name": "f"}
	var onTelegramAll []map[string]any
	for _, kind := range []string{"location", "contact", "dice", "game", "poll", "sticker", "story", "gift", "unique_gift", "checklist", "paid_media",
		"giveaway", "invoice", "rich_message", "users_shared", "invented_later"} {
		onTelegramAll = append(onTelegramAll, map[string]any{kind: some})
	}
	for _, kind := range []string{"photo", "video_note", "video", "voice", "audio", "document", "animation"} {
		onTelegramAll = append(onTelegramAll, file(kind))
	}
	onDiscordAll := []map[string]any{
		{}, {"poll": map[string]any{"question": map[string]any{"text": "Tea?"}}}, {"sticker_items": []any{map[string]any{"id": "1", "name": "Wave"}}},
		{"activity": map[string]any{"type": 1}}, {"message_snapshots": []any{map[string]any{"message": map[string]any{"content": ""}}}},
	}
	onEachPlatform(t, nil, func(c *chatHarness) {
		kinds := onTelegramAll
		if c.platform.name == "discord" {
			kinds = onDiscordAll
		}
		for n, fields := range kinds {
			switch w := c.Platform.(type) {
			case *telegramworld.Platform:
				w.Send(connectortest.Ada, c.ada, "", telegramfake.With(fields))
			case *discordworld.Platform:
				w.Send(connectortest.Ada, c.ada, "", discordfake.With(fields))
			}
			c.Pass(5 * time.Second)
			c.WaitIdle()
			if own := connectortest.BotTexts(c, c.ada); len(own) != n+1 {
				t.Fatalf("after %v people read %q", fields, own)
			}
		}
	})
}

// A forwarded file is read on Discord, and an embed in it is words.
func TestDiscordForwards(t *testing.T) {
	onPlatform(t, platforms()[1], withSenses, func(c *chatHarness) {
		w := c.Platform.(*discordworld.Platform)
		card := map[string]any{"embeds": []any{map[string]any{"type": "rich", "title": "Release 2", "fields": []any{map[string]any{"name": "Date", "value": "Monday"}}}}}
		text := w.Undelivered(connectortest.Bob, c.group, "", connectortest.File{Name: "plan.md", Type: "text/markdown", Data: []byte("Buy tea.")})
		embed := w.Send(connectortest.Robot, c.group, "", discordfake.With(card), discordfake.Undelivered())
		for posted, want := range map[string]string{text.ID: "[Forwarded file: plan.md, text/markdown]\n  Buy tea.", embed.ID: "*Forwarded:* *Embed:* Release 2\n    Date: Monday"} {
			w.Send(connectortest.Ada, c.ada, "", discordfake.Forward(posted))
			c.Pass(5 * time.Second)
			c.WaitIdle()
			if told := c.lastPromptText(); !strings.Contains(told, want) {
				t.Errorf("the model was told %q; want it to contain %q", told, want)
			}
		}
		c.Reply(connectortest.Ada, c.group, embed, w.Mentioning("when?"))
		c.WaitIdle()
		if told := c.lastPromptText(); !strings.Contains(told, "[In reply to Robot: *Embed:* Release 2 Date: Monday]") {
			t.Errorf(`the model was told %q; want it to contain "[In reply to Robot: *Embed:* Release 2 Date: Monday]"`, told)
		}
	})
}

// A mention that an edit adds is answered, once: also if the bot was not told of the message, and however often the edit comes. A later
// edit rewrites that answer. An edit after a quarter of an hour is none of those.
func TestMentionByEdit(t *testing.T) {
	for name, wait := range map[string]time.Duration{"soon": time.Minute, "late": 16 * time.Minute} {
		t.Run(name, subtest.With(onEachPlatform, nil, func(c *chatHarness) {
			p := c.Platform.(groupPlatform)
			c.Say(connectortest.Ada, c.group, "what is the time?")
			c.Say(connectortest.Bob, c.group, "no idea")
			c.Pass(wait)
			asked := c.Messages(c.group)[0]
			c.DeliverTwice(func() { c.Edit(c.group, asked, p.Mentioning("what is the time?")) })
			c.WaitIdle()
			if name == "late" {
				c.wantShown(c.group)
				return
			}
			c.wantModelCalls(1)
			if own := connectortest.BotTexts(c, c.group); len(own) != 1 || !strings.Contains(own[0], "what is the time?") {
				c.Errorf("people read %q", own)
			}
			c.Pass(10 * time.Second) // a redelivery can hold up the next poll
			c.Edit(c.group, asked, p.Mentioning("what is the date?"))
			c.Pass(10 * time.Second)
			c.WaitIdle()
			c.wantModelCalls(2)
			if own := connectortest.BotTexts(c, c.group); len(own) != 1 || !strings.Contains(own[0], "what is the date?") {
				c.Errorf("after another edit people read %q", own)
			}
		}))
	}
}

// The role that Discord makes for the bot stands for the bot where users mention it. Other roles don't.
func TestDiscordOwnRole(t *testing.T) {
	onPlatform(t, platforms()[1], nil, func(c *chatHarness) {
		w := c.Platform.(*discordworld.Platform)
		own, other := w.Fake.AddBotRole(w.Guild()), w.Fake.AddRole(w.Guild(), "Friends")
		c.Say(connectortest.Ada, c.group, "<@&"+other+"> hello all")
		c.Say(connectortest.Ada, c.group, "<@&"+own+"> hello")
		c.wantShown(c.group, "You said: Ada: hello")
		c.Say(connectortest.Ada, c.group, "and <@&"+own+">?")
		c.WaitIdle()
		c.wantModelCalls(2)
		lookups := 0
		for _, q := range w.Fake.Log() {
			if q.Route == discordfake.GetRoles {
				lookups++
			}
		}
		if lookups != 1 {
			t.Errorf("%d requests for the roles; want 1", lookups)
		}
	})
}

// An administrator who writes in the name of an allowed group is answered as that group; a message in the name of a channel isn't answered.
func TestTelegramAnonymousAdministrator(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		t.Run(fmt.Sprint("allowed ", allowed), func(t *testing.T) {
			onPlatform(t, platforms()[0], func(cfg *config.Config) {
				if w, err := telegramworld.New(); err != nil {
					t.Error(err)
				} else if allowed {
					cfg.Access.Allow = []config.Chat{config.Chat(telegram.Name + ":" + string(w.Group()))} // the same on each platform
				}
			}, func(c *chatHarness) {
				w := c.Platform.(*telegramworld.Platform)
				group := telegramworld.Chat(c.group)
				w.Send(connectortest.Ada, c.group, w.Mentioning("who is here?"), telegramfake.As(group))
				w.Send(connectortest.Ada, c.group, w.Mentioning("and I?"), telegramfake.As(telegramfake.Chat{ID: -100777, Type: "channel", Title: "News"}))
				c.WaitIdle()
				if own := connectortest.BotTexts(c, c.group); len(own) != map[bool]int{true: 1}[allowed] {
					t.Errorf("people read %q", own)
				}
			})
		})
	}
}
