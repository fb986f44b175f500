package discord_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/core/chat"
	"parley/internal/require"
	"parley/progressive"
)

// command gives a slash command in the usual channel, and returns the address of its answer.
func (w *botHarness) command(name string, options ...string) chat.Address {
	w.Helper()
	if w.fake.Command(w.channel, w.ann, name, options...) == "" {
		w.Fatalf("/%s can't be given", name)
	}
	w.settle()
	return w.newest().Address
}

func (w *botHarness) contents() (all []string) {
	for _, m := range w.fake.Messages(w.channel) {
		all = append(all, m.Content)
	}
	return all
}

// Commands are registered once, and again only when they change; for some servers instead of all if the configuration names
// them.
func TestCommandsAreRegisteredOnce(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		if got := w.fake.Commands(w.guild); !slices.Contains(got, "ask") || !slices.Contains(got, "usage") || len(got) != len(chat.Commands())+3 {
			t.Errorf("users see %q", got)
		}
		w.restart()
		w.start()
		if n := w.count(discordfake.PutCommands); n != 1 {
			t.Errorf("registered %d times; want 1", n)
		}
		w.commandGuilds = []string{w.guild}
		w.restart()
		w.start()
		other := w.fake.AddGuild("other")
		if here, there := w.fake.Commands(w.guild), w.fake.Commands(other); len(here) != len(chat.Commands())+3 || len(there) != 0 {
			t.Errorf("users see %q, and elsewhere %q; want all, and none", here, there)
		}
		w.commandGuilds = []string{other}
		w.fake.WithoutCommands(other)
		w.restart()
		w.start()
		if got := w.fake.Commands(w.guild); len(got) != 0 {
			t.Errorf("users of the server that was removed see %q; want none", got)
		}
		w.wantLogged("can't register the slash commands")
	})
}

// Clients show the commands in the language of their user. The fake refuses texts that Discord refuses.
func TestCommandsAreTranslated(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		for _, code := range []string{"de", "es-ES", "es-419", "fr", "pt-BR", "ja", "zh-CN"} {
			for _, c := range chat.Commands() {
				if name, about := w.fake.Translated(string(c.Name), code); name == "" || about == "" || about == c.Description {
					t.Errorf("/%s in %s is %q: %q", c.Name, code, name, about)
				}
			}
			if name, _ := w.fake.Translated("Ask about this", code); name == "" {
				t.Errorf("the menu has no name in %s", code)
			}
		}
		if name, about := w.fake.Translated("usage", "de"); name != "verbrauch" || !strings.Contains(about, "Verbrauch") {
			t.Errorf("/usage in German is %q: %q", name, about)
		}
	})
}

// A message carries the language of its server, also after that has changed.
func TestLanguageOfTheServer(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.fake.Say(w.channel, w.ann, "one")
		w.settle()
		w.fake.SetLocale(w.guild, "de")
		w.fake.Say(w.channel, w.ann, "two")
		w.command("ask", "question", "three")
		var got []string
		for _, m := range w.Received() {
			got = append(got, m.PlaceLocale)
		}
		if !slices.Equal(got, []string{"en-US", "de", "de"}) {
			t.Errorf("the messages say %q", got)
		}
	})
}

// A slash command is a message in the grammar of messages, that addresses the bot.
func TestCommandIsAMessage(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.command("ask", "question", "What is tea?")
		w.command("model", "which", "large")
		w.command("stop")
		w.wantTexts("What is tea?", "/model large", "/stop")
		for _, m := range w.Received() {
			if !m.Addressed || m.Place.Kind != chat.Group || m.Name != "ann" || m.Here().Address.Response != nil {
				t.Errorf("%+v", m)
			}
		}
	})
}

// Discord accepts the token of an interaction for 15 minutes. Then an answer that all see continues in ordinary messages, and a
// private one ends.
func TestResponsesExpire(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.HandleAs(func(context.Context, chat.Inbound) (chat.Accepted, error) { return chat.Accepted{Run: "run"}, nil })
		ask, usage := w.openAt(w.command("ask", "question", "Hi")), w.openAt(w.command("usage"))
		id := require.Value(ask.Post(w.Context(), part("one"), "run/0"))(t)
		require.Value(usage.Post(w.Context(), part("secret"), "other/0"))(t)
		time.Sleep(15 * time.Minute)
		if err := ask.(progressive.Editor).Edit(w.Context(), id, part("one, edited")); err != nil {
			t.Error(err)
		}
		if _, err := ask.Post(w.Context(), part("two"), "run/1"); err != nil {
			t.Error(err)
		}
		if _, err := usage.Post(w.Context(), part("secret"), "other/1"); !errors.Is(err, progressive.ErrForbidden) {
			t.Errorf("a private answer that has expired: %v; want it forbidden", err)
		}
		if got := w.contents(); !slices.Equal(got, []string{"one, edited", "two"}) {
			t.Errorf("all see %q", got)
		}
		if n := w.fake.InvalidRequests(); n != 0 {
			t.Errorf("%d invalid requests; want none", n)
		}
	})
}

// Where the bot can't write, and where only the user may read it, an answer of several messages continues in follow-ups. They
// have no nonce, so one whose fate is unknown is not repeated.
func TestFollowUps(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.HandleAs(func(context.Context, chat.Inbound) (chat.Accepted, error) { return chat.Accepted{Run: "run"}, nil })
		w.fake.Deny(w.channel, discordfake.SendMessages)
		for _, command := range [][]string{{"ask", "question", "Hi"}, {"usage"}} {
			s := w.openAt(w.command(command[0], command[1:]...))
			require.Value(s.Post(w.Context(), part("one"), "run/0"))(t)
			w.fake.Fault(discordfake.Match{Route: discordfake.PostFollowUp}, discordfake.DropAfter())
			if _, err := s.Post(w.Context(), part("two"), "run/1"); !errors.Is(err, progressive.ErrAmbiguous) {
				t.Errorf("the fate of a follow-up: %v; want it unknown", err)
			}
			if _, err := s.Post(w.Context(), part("two"), "run/1"); err != nil {
				t.Error(err)
			}
		}
		if got := w.contents(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("all see %q; want one and two", got)
		}
		if got := w.fake.Private(w.channel); len(got) != 2 || got[1].OnlyFor != w.ann {
			t.Errorf("ann alone sees %+v; want two messages", got)
		}
	})
}

// A command that can't be stored is answered in time, and again when the store works.
func TestCommandIsDeferredWhileTheStoreFails(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.RefuseAll(errStore)
		w.fake.Command(w.channel, w.ann, "ask", "question", "Hi")
		time.Sleep(5 * time.Second)
		if got := w.fake.PressAnswers(); len(got) != 1 || got[0].Type != 5 || got[0].After > 3*time.Second {
			t.Errorf("acknowledged with %+v; want a deferral", got)
		}
		w.kill()
		w.Refuse(nil)
		w.start()
		w.wantTexts("Hi") // the position did not advance, so it came again (40060)
		if len(w.fake.Thinking(w.channel)) != 0 && len(w.fake.PressAnswers()) != 1 {
			t.Errorf("acknowledged twice: %+v", w.fake.PressAnswers())
		}
	})
}

// A refusal is private, also if all could see that the bot was thinking.
func TestRefusalIsPrivate(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.HandleAs(func(context.Context, chat.Inbound) (chat.Accepted, error) {
			time.Sleep(2 * time.Second)
			return chat.Accepted{Refused: "Not you."}, nil
		})
		w.fake.Command(w.channel, w.ann, "ask", "question", "Hi")
		time.Sleep(5 * time.Second)
		if got := w.fake.Private(w.channel); len(got) != 1 || got[0].Content != "Not you." || len(w.contents()) != 0 || len(w.fake.Thinking(w.channel)) != 0 {
			t.Errorf("ann alone sees %+v, all see %q", got, w.contents())
		}
	})
}

// Channels that the bot can't view are in the list of a server, without their data (since November 2026). They are not
// searched.
func TestMaskedChannelsAreNotSearched(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("before")
		w.settle()
		w.restart()
		w.fake.Deny(w.channel, discordfake.ViewChannel)
		time.Sleep(10 * time.Minute) // the session can't be resumed any more
		w.restartAndWait()
		if n := w.count(discordfake.GetMessages); n != 0 {
			t.Errorf("%d fetches; want none", n)
		}
		if strings.Contains(w.log.String(), "Missing Access") {
			t.Error("a request was refused")
		}
	})
}

// The check names servers whose members don't see the commands.
func TestCheckNamesServersWithoutCommands(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.fake.WithoutCommands(w.fake.AddGuild("Tea room"))
		found, err := w.bot.Check(w.Context())
		if err != nil || !strings.Contains(found.Text, "slash commands are not shown in Tea room, where") {
			t.Errorf("%q, %v", found.Text, err)
		}
	})
}

// Discord refuses an expired token as unauthorized. That is not the bot's own token, which stays valid.
func TestExpiredTokenIsNotTheBots(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		s := w.openAt(w.command("ask", "question", "Hi"))
		w.fake.Fault(discordfake.Match{Route: discordfake.EditOriginal}, discordfake.ErrorCode(401, 50027, "Invalid Webhook Token"))
		if _, err := s.Post(w.Context(), part("one"), "run/0"); !errors.Is(err, progressive.ErrUnsent) {
			t.Errorf("%v; want it unsent", err)
		}
		if _, err := s.Post(w.Context(), part("one"), "run/0"); err != nil {
			t.Error(err)
		}
		if got := w.contents(); !slices.Equal(got, []string{"one"}) {
			t.Errorf("all see %q", got)
		}
	})
}

// The guide's table has each command, and who sees its answer in a server. In a direct message, that is the user alone.
func TestGuideListsEveryCommand(t *testing.T) {
	page := require.Value(os.ReadFile("../../docs/discord.md"))(t)
	for _, c := range chat.Commands() {
		row := regexp.MustCompile("(?m)^\\| [^|]*`/" + string(c.Name) + "`[^|]*\\|.*\\| (all|you) \\|$").FindSubmatch(page)
		want := "all"
		if c.Private || c.Name.Direct() {
			want = "you"
		}
		if row == nil || string(row[1]) != want {
			t.Errorf("docs/discord.md says of /%s: %q; want a row that ends with %q", c.Name, row, want)
			continue
		}
		if c.Name.Direct() && !strings.Contains(string(row[0]), "in a direct message") {
			t.Errorf("docs/discord.md does not say that /%s is for direct messages", c.Name)
		}
	}
}
