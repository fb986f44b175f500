package stories_test

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/models/modelfake"
)

// German on Telegram: commands, notices, the refusal of a text, and what is for one user of a group.
func TestLanguageOnTelegram(t *testing.T) {
	de := lang.In("de")
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		for _, who := range []connectortest.User{connectortest.Ada, connectortest.Eve} {
			w.Fake.SetLanguage(w.User(who), "de")
		}
		for said, want := range map[string]string{"/retry": de.Say("turn.nothing_to_retry"), "/forget": de.Say("memory.forget_how"), "/language xx": "Deutsch (`de`)"} {
			c.Say(connectortest.Ada, c.ada, said)
			c.waitShown(c.ada, strings.ReplaceAll(want, "`", ""))
			c.WaitIdle()
		}
		c.model.Queue(modelfake.Script{modelfake.Status(401, "")})
		c.Say(connectortest.Ada, c.ada, "Hallo")
		c.waitShown(c.ada, de.Say("failure.no_provider"))
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "Hallo")
		c.WaitIdle()
		c.allowedOrphans = 1
		w.SayEphemeral(connectortest.Ada, c.group, "kein Befehl")
		c.Pass(time.Minute)
		wantSaid(c, w.Fake.Messages(telegramworld.Chat(c.group)), func(m telegramfake.Message) string { return m.Text }, de.Say("message.commands_only"))
		c.WaitIdle()
		w.Fake.Fault(telegramfake.Fault{Method: "sendMessage", Chat: telegramworld.Chat(c.ada).ID, Times: 3, Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: MESSAGE_WEIGHT_INVALID"}`})
		c.model.Queue(modelfake.Script{modelfake.Text("Ein Fuchs.")})
		c.Say(connectortest.Ada, c.ada, "Welches Tier?")
		c.waitShown(c.ada, de.Say("message.missing"))
		all := c.Messages(c.ada)
		c.forgotten = map[string]bool{all[len(all)-1].ID: true}
	})
}

// Japanese on Discord: commands that one user sees, notices, and the line in place of a blocked answer.
func TestLanguageOnDiscord(t *testing.T) {
	ja := lang.In("ja")
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		w.Fake.SetLocale(w.Guild(), "ja")
		w.Fake.SetClientLocale("ja")
		for command, want := range map[string]string{"retry": ja.Say("turn.nothing_to_retry"), "stop": ja.Say("turn.done")} {
			w.Command(connectortest.Ada, c.group, command)
			c.Pass(time.Minute)
			if got := w.Transcript(connectortest.Ada, c.group); !strings.Contains(got, want) {
				wantSaid(c, w.Fake.PressAnswers(), func(a discordfake.PressAnswer) string { return a.Content }, want)
			}
		}
		w.Command(connectortest.Eve, c.group, "usage")
		c.Pass(time.Minute)
		wantSaid(c, w.Fake.PressAnswers(), func(a discordfake.PressAnswer) string { return a.Content }, ja.Say("choice.not_invited"))
		w.Fake.AutoMod("foul")
		c.model.Queue(modelfake.Script{modelfake.Text("What a foul word.")})
		c.Mention(connectortest.Ada, c.group, "Tell me")
		c.WaitIdle()
		all := c.Messages(c.group)
		c.forgotten = map[string]bool{all[len(all)-1].ID: true}
		c.waitShown(c.group, ja.Say("message.moderated"))
	})
}

// wantSaid fails unless one of all says want.
func wantSaid[T any](c *chatHarness, all []T, says func(T) string, want string) {
	c.Helper()
	if !slices.ContainsFunc(all, func(x T) bool { return says(x) == want }) {
		c.Errorf("no one reads %q, but %+v", want, all)
	}
}

// Arabic on the web, and French in a terminal, which sends its LANG as the same header.
func TestLanguageOfARequest(t *testing.T) {
	for _, tag := range []string{"ar", "fr"} {
		t.Run(tag, func(t *testing.T) {
			v := lang.In(tag)
			withGateway(t, func(cfg *config.Config) { cfg.Limits.Person = quotaOf(2, 0) }, func(s *harness) {
				s.browser.HTTP.Transport = withHeader{s.browser.HTTP.Transport, "Accept-Language", tag}
				id := s.newConversation()
				for said, want := range map[string]string{"/retry": v.Say("turn.nothing_to_retry"), "/forget": v.Say("memory.forget_how")} {
					if got := *s.readAll(s.send(id, said[1:], said)).FullText; got != want {
						t.Errorf("%s: %q; want %q", said, got, want)
					}
				}
				s.model.Queue(modelfake.Script{modelfake.Status(401, "")})
				last := s.readAll(s.send(id, "1", "Hi"))
				s.readAll(s.send(id, "2", "Hi"))
				limited := s.readAll(s.send(id, "3", "Hi"))
				before, _, _ := strings.Cut(v.Say("limit.person"), "{time}")
				if no := v.Say("failure.no_provider"); !strings.Contains(last.Raw, no) || !strings.Contains(limited.Raw, before) {
					t.Errorf("they read %s and %s; want %q and %q", last.Raw, limited.Raw, no, before)
				}
				resp := require.Value(s.browser.HTTP.Get(s.browser.Base + "/api/conversations/none/messages"))(s)
				defer resp.Body.Close()
				said := require.Value(io.ReadAll(resp.Body))(s)
				if !strings.Contains(string(said), v.Say("refused.no_conversation")) {
					t.Errorf("the refusal is %s", said)
				}
			})
		})
	}
}
