package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord"
	"parley/connectors/discord/discordfake"
	"parley/internal/golden"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

// withThreads runs a test on Discord where mentions open threads, and the small model gives titles.
func withThreads(t *testing.T, play func(*chatHarness, *discordworld.Platform)) {
	t.Helper()
	onPlatform(t, platforms()[1], func(c *config.Config) {
		configtest.Section[discord.Config](c.Connectors).Threads = []string{"all"}
		c.Models.Small.Model = "small-model"
	}, func(c *chatHarness) {
		c.choose = titled("Depth of the Sea")
		play(c, c.Platform.(*discordworld.Platform))
	})
}

// titled is a model that gives each conversation the same title, and echoes questions.
func titled(title string) func(modelfake.Request) modelfake.Script {
	return func(r modelfake.Request) modelfake.Script {
		if strings.Contains(string(r.Raw), "Write a title") {
			return modelfake.Script{modelfake.Text(title)}
		}
		return modelfake.Echo(r)
	}
}

// wantPrompt wants the last question to the model that holds asked to hold all of parts.
func (c *chatHarness) wantPrompt(asked string, parts ...string) {
	c.Helper()
	prompt := ""
	for _, r := range c.model.Requests() {
		if raw := string(r.Raw); strings.Contains(raw, asked) && !strings.Contains(raw, "Write a title") {
			prompt = raw
		}
	}
	for _, part := range parts {
		if !strings.Contains(prompt, part) {
			c.Errorf("the prompt of %q doesn't hold %q: %s", asked, part, prompt)
		}
	}
}

// onlyThread is the only thread of the group.
func (c *chatHarness) onlyThread(w *discordworld.Platform) connectortest.Room {
	c.Helper()
	all := w.Threads(c.group)
	if len(all) != 1 {
		c.Fatalf("%d threads; want 1", len(all))
	}
	return all[0]
}

// A mention opens a thread with a title of the small model. In it the bot answers without a mention, except what is said to others. The
// channel itself stays a conversation of its own.
func TestDiscordThreadTranscript(t *testing.T) {
	withThreads(t, func(c *chatHarness, w *discordworld.Platform) {
		c.Mention(connectortest.Ada, c.group, "How deep is the sea?")
		c.Pass(time.Minute)
		thread := c.onlyThread(w)
		c.Say(connectortest.Ada, thread, "And the lake?")
		c.Pass(time.Minute)
		w.Fake.Say(string(thread), w.User(connectortest.Bob), "you should look it up", discordfake.Mention(w.User(connectortest.Ada)))
		c.Pass(time.Minute)
		c.Say(connectortest.Bob, c.group, "What are they talking about?")
		c.Mention(connectortest.Ada, c.group, "/status")
		c.Pass(time.Minute)
		c.WaitIdle()
		c.wantPrompt("And the lake?", "How deep is the sea?")
		golden.Check(t, "testdata/discord/threads.txt", statusless(w.Fake.TranscriptWithThreads(string(c.group), w.User(connectortest.Ada))))
	})
}

// statusless leaves out the lines of /status after the first.
func statusless(transcript string) string {
	lines := strings.Split(transcript, "\n")
	kept := lines[:0]
	for _, l := range lines {
		if !strings.HasPrefix(l, "    ") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}

// A process dies between each step of opening the thread and answering there: one thread with one answer is left.
func TestDiscordThreadSurvivesAKill(t *testing.T) {
	for name, f := range map[string]struct {
		route discordfake.Route
		fault discordfake.Fault
	}{
		"before the thread":          {discordfake.OpenThread, discordfake.DropBefore()},
		"after the thread":           {discordfake.OpenThread, discordfake.DropAfter()},
		"before the answer":          {discordfake.CreateMessage, discordfake.DropBefore()},
		"after the answer":           {discordfake.CreateMessage, discordfake.DropAfter()},
		"before the title":           {discordfake.EditChannel, discordfake.DropBefore()},
		"a limit on threads":         {discordfake.OpenThread, discordfake.TooManyRequests(discordfake.ScopeUser, 3*time.Second)},
		"a bad gateway":              {discordfake.OpenThread, discordfake.Respond(502, nil, "<h1>502 Bad Gateway</h1>")},
		"a bad gateway that carried": {discordfake.OpenThread, discordfake.RespondAfter(502, nil, "<h1>502 Bad Gateway</h1>")},
	} {
		t.Run(name, subtest.Of(withThreads, func(c *chatHarness, w *discordworld.Platform) {
			w.Fake.Fault(discordfake.Match{Route: f.route}, f.fault)
			c.Mention(connectortest.Ada, c.group, "Hi")
			c.Pass(1200 * time.Millisecond)
			c.crash()
			c.Pass(5 * time.Second)
			c.start()
			c.Pass(time.Minute)
			c.wantShown(c.onlyThread(w), "You said: Ada: Hi")
			c.wantShown(c.group)
		}))
	}
}

// Where the bot may not open threads, the answer is a reply in the channel, also after a crash, and later mentions try no more.
func TestDiscordThreadsNotAllowed(t *testing.T) {
	withThreads(t, func(c *chatHarness, w *discordworld.Platform) {
		w.Fake.Deny(string(c.group), discordfake.CreateThreads)
		c.model.Queue(slowScript(tale))
		c.Mention(connectortest.Ada, c.group, "Tell me")
		c.Pass(time.Minute)
		c.Mention(connectortest.Ada, c.group, "Hi")
		c.Pass(time.Minute)
		c.wantShown(c.group, tale, "You said: Ada: Hi")
		c.React(connectortest.Bob, c.group, w.Messages(c.group)[1], "👍", true)
		asked := 0
		for _, q := range w.Fake.Log() {
			if q.Route == discordfake.OpenThread {
				asked++
			}
		}
		if asked != 1 || len(w.Threads(c.group)) != 0 {
			t.Errorf("asked for a thread %d times; want 1", asked)
		}
	})
	withThreads(t, func(c *chatHarness, w *discordworld.Platform) {
		w.Fake.Deny(string(c.group), discordfake.CreateThreads)
		c.model.Queue(slowScript(tale), slowScript(tale))
		c.Mention(connectortest.Ada, c.group, "Tell me")
		c.Pass(2 * time.Second)
		c.restart()
		c.Pass(time.Minute)
		c.wantShown(c.group, tale)
	})
}

// A thread is locked in mid-answer: the channel is told, once.
func TestDiscordThreadLocked(t *testing.T) {
	withThreads(t, func(c *chatHarness, w *discordworld.Platform) {
		c.allowedOrphans, c.forgotten = 1, map[string]bool{"": true} // the sentence; nothing of the answer can be shown
		c.Mention(connectortest.Ada, c.group, "Hi")
		c.Pass(time.Minute)
		thread := c.onlyThread(w)
		c.Say(connectortest.Ada, thread, "Are you there?")
		w.Fake.SetThread(string(thread), true, true)
		c.Pass(time.Minute)
		c.wantShown(c.group, "<#"+string(thread)+"> is locked, so I can't answer there.")
		c.wantShown(thread, "You said: Ada: Hi")
	})
}

// A thread is archived in mid-answer: the rest is a new message, which opens it again.
func TestDiscordThreadArchived(t *testing.T) {
	withThreads(t, func(c *chatHarness, w *discordworld.Platform) {
		c.allowedOrphans = 1 // the text before
		c.model.Queue(slowScript(tale))
		c.Mention(connectortest.Ada, c.group, "Tell me")
		c.Pass(2 * time.Second)
		thread := c.onlyThread(w)
		w.Fake.SetThread(string(thread), true, false)
		c.Pass(time.Minute)
		c.WaitIdle()
		if own := connectortest.BotTexts(c, thread); !strings.HasSuffix(strings.Join(own, " "), tale[len(tale)-20:]) {
			t.Errorf("the thread shows %q", own)
		}
	})
}

// Messages of a thread supersede its answer, and /stop ends it there. The channel goes on.
func TestDiscordThreadTurns(t *testing.T) {
	withThreads(t, func(c *chatHarness, w *discordworld.Platform) {
		c.model.Queue(slowScript(tale), slowScript(tale), slowScript(tale))
		c.Mention(connectortest.Ada, c.group, "Tell me")
		c.Pass(2 * time.Second)
		c.Mention(connectortest.Bob, c.group, "Me too")
		c.Pass(2 * time.Second)
		threads := w.Threads(c.group)
		if len(threads) != 2 {
			t.Fatalf("%d threads; want 2", len(threads))
		}
		c.Say(connectortest.Ada, threads[0], "Something else")
		c.Pass(1500 * time.Millisecond)
		c.Say(connectortest.Ada, threads[0], "/stop")
		c.Pass(time.Minute)
		c.wantShown(threads[1], tale)
		for _, text := range connectortest.BotTexts(c, threads[0]) {
			if strings.Contains(text, tale) {
				t.Errorf("the thread shows the whole answer %q", text)
			}
		}
	})
}

// The question of a thread stands in the channel: an edit there changes the answer, and a deletion takes it away.
func TestDiscordThreadQuestionChanges(t *testing.T) {
	withThreads(t, func(c *chatHarness, w *discordworld.Platform) {
		c.Mention(connectortest.Ada, c.group, "Hi")
		c.Pass(time.Minute)
		thread := c.onlyThread(w)
		w.Fake.UserEdit(string(thread), w.Mentioning("Bye"))
		c.Pass(time.Minute)
		c.wantShown(thread, "You said: Ada: Bye")
		c.model.Queue(slowScript(tale))
		c.Mention(connectortest.Bob, c.group, "Tell me")
		c.Pass(2 * time.Second)
		second := w.Threads(c.group)[1]
		w.Fake.UserDelete(string(second))
		c.Pass(time.Minute)
		c.wantShown(second)
	})
}

// In a user's thread and in a forum's post, the beginning is context, and so are the title and the tags of a post.
func TestDiscordBeginningsTranscript(t *testing.T) {
	withThreads(t, func(c *chatHarness, w *discordworld.Platform) {
		ask := func(who connectortest.User, thread, text string) {
			w.Mention(who, connectortest.Room(thread), text)
			c.Pass(time.Minute)
			c.WaitIdle()
		}
		start := w.Fake.Say(string(c.group), w.User(connectortest.Eve), "The red wire is loose.", discordfake.Undelivered())
		thread := w.Fake.AddThreadOn(start, w.User(connectortest.Eve), "wiring")
		ask(connectortest.Ada, thread, "What should we do?")
		c.wantPrompt("What should we do?", "[In reply to Eve: The red wire is loose.]", "wiring")
		ask(connectortest.Ada, thread, "And then?")
		forum := connectortest.Room(w.Fake.AddForum(w.Guild(), "help"))
		post := w.Fake.AddPost(string(forum), w.User(connectortest.Bob), "No sound", "It is silent since Monday.", "Linux", "urgent")
		ask(connectortest.Ada, post, "Any idea?")
		c.wantPrompt("Any idea?", "It is silent since Monday.", "No sound [Linux, urgent]")
		golden.Check(t, "testdata/discord/beginnings.txt",
			w.Fake.TranscriptWithThreads(string(c.group), w.User(connectortest.Ada))+w.Fake.TranscriptWithThreads(string(forum), w.User(connectortest.Ada)))
	})
}
