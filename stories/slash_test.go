package stories_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord/discordfake"
	"parley/core/chat"
	"parley/internal/golden"
	"parley/internal/subtest"
)

// DR-32: every slash command has a transcript of the user who gives it, and one of a bystander in the same channel, who sees
// nothing of what concerns only that user.
func TestSlashCommandTranscripts(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		var b strings.Builder
		all := [][]string{{"ask", "question", "What is tea?"}}
		for _, c := range chat.Commands() {
			options := map[chat.CommandName][]string{chat.ForgetCommand: {"which", "1"}, chat.BlockCommand: {"which", "Eve"}}
			all = append(all, append([]string{string(c.Name)}, options[c.Name]...))
		}
		for _, command := range all {
			room := connectortest.Room(w.Fake.AddChannel(w.Guild(), command[0]))
			if id := w.Command(connectortest.Ada, room, command[0], command[1:]...); id == "" {
				t.Fatalf("/%s can't be given", command[0])
			}
			c.Pass(10 * time.Second)
			c.WaitIdle()
			if users := w.Fake.Thinking(string(room)); len(users) != 0 {
				t.Errorf("/%s: the bot still thinks", command[0])
			}
			answers := w.Fake.PressAnswers()
			last := answers[len(answers)-1]
			fmt.Fprintf(&b, "== /%s\n-- Ada\n%s", strings.Join(command, " "), w.Transcript(connectortest.Ada, room))
			if last.Content != "" {
				fmt.Fprintf(&b, "parley (only you can see this): %s\n", last.Content)
			}
			fmt.Fprintf(&b, "-- Bob\n%s\n", w.Transcript(connectortest.Bob, room))
			if last.After > 3*time.Second {
				t.Errorf("/%s was acknowledged after %v", command[0], last.After)
			}
		}
		golden.Check(t, "testdata/discord/commands.txt", b.String())
	})
}

// Discord counts the responses to interactions separately, so commands given at once in one channel don't wait for each other, nor for an
// answer that grows there, and nothing is refused for its rate.
func TestSlashCommandsDontWaitForTheChannel(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.model.Queue(slowScript(tale))
		c.Mention(connectortest.Ada, c.group, "Tell me")
		c.Pass(5 * time.Second)
		for range 8 {
			w.Command(connectortest.Bob, c.group, "help")
		}
		c.Pass(time.Second)
		if n := len(w.Fake.Thinking(string(c.group))); n != 0 {
			t.Errorf("%d commands have no answer after a second", n)
		}
		if n := strings.Count(w.Transcript(connectortest.Bob, c.group), "/usage"); n < 8 {
			t.Errorf("Bob reads %d answers; want 8", n)
		}
		c.Pass(time.Minute)
		c.WaitIdle()
		for _, q := range w.Fake.Log() {
			if q.Status == http.StatusTooManyRequests {
				t.Errorf("%s was refused for its rate", q.Route)
			}
		}
	})
}

// A stranger's slash command gets a private line instead of silence, and costs nothing.
func TestSlashCommandOfAStranger(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		for _, command := range [][]string{{"ask", "question", "Hi"}, {"usage"}, {"stop"}} {
			w.Command(connectortest.Eve, c.group, command[0], command[1:]...)
			c.Pass(5 * time.Second)
			answers := w.Fake.PressAnswers()
			if last := answers[len(answers)-1]; !last.Ephemeral || last.Content != "I only talk to people my owner has approved." {
				t.Errorf("/%s: %+v", command[0], last)
			}
		}
		if got := w.Transcript(connectortest.Bob, c.group); got != "" {
			t.Errorf("Bob sees %q; want nothing", got)
		}
		c.wantModelCalls(0)
	})
}

// stall makes the store stand still from now on, for as long as d.
func (s *harness) stall(d time.Duration) {
	until := time.Now().Add(d)
	s.store.Load().Refuse(func(string) error {
		time.Sleep(time.Until(until))
		return nil
	})
}

// wantOneAnswer wants /ask to have exactly one answer.
func (c *chatHarness) wantOneAnswer(w *discordworld.Platform, want string) {
	c.Helper()
	c.wantShown(c.group, want)
	if users := w.Fake.Thinking(string(c.group)); len(users) != 0 {
		c.Errorf("%d users see the bot think; want none", len(users))
	}
	c.wantModelCalls(1)
}

// DR-33: with the store stalled for five seconds, /ask is acknowledged within three, and answered once.
func TestSlashAskWhileTheStoreStalls(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.stall(5 * time.Second)
		w.Command(connectortest.Ada, c.group, "ask", "question", "Hi")
		c.Pass(20 * time.Second)
		if answers := w.Fake.PressAnswers(); len(answers) != 1 || answers[0].Type != 5 || answers[0].After > 3*time.Second {
			t.Fatalf("acknowledged with %+v; want a deferral within 3s", answers)
		}
		c.wantOneAnswer(w, "You said: Ada: Hi")
	})
}

// DR-33: a process that is killed at any of these moments leaves the answer to the next one, which shows it exactly once.
func TestSlashAskSurvivesAKill(t *testing.T) {
	for name, prepare := range map[string]func(*chatHarness, *discordworld.Platform){
		"while it is stored": func(c *chatHarness, _ *discordworld.Platform) { c.stall(5 * time.Second) },
		"before the answer": func(_ *chatHarness, w *discordworld.Platform) {
			w.Fake.Fault(discordfake.Match{Route: discordfake.EditOriginal}, discordfake.DropBefore())
		},
		"after the answer": func(_ *chatHarness, w *discordworld.Platform) {
			w.Fake.Fault(discordfake.Match{Route: discordfake.EditOriginal}, discordfake.DropAfter())
		},
	} {
		t.Run(name, subtest.Of(onDiscord, func(c *chatHarness, w *discordworld.Platform) {
			prepare(c, w)
			w.Command(connectortest.Ada, c.group, "ask", "question", "Hi")
			c.Pass(1800 * time.Millisecond)
			c.crash()
			c.Pass(5 * time.Second)
			c.start()
			c.Pass(time.Minute)
			c.WaitIdle()
			c.wantShown(c.group, "You said: Ada: Hi")
			if users := w.Fake.Thinking(string(c.group)); len(users) != 0 {
				c.Errorf("the bot still thinks")
			}
		}))
	}
}

// An interaction that is delivered twice is answered once (DR-21).
func TestSlashAskDeliveredTwice(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.DeliverTwice(func() { w.Command(connectortest.Ada, c.group, "ask", "question", "Hi") })
		c.Pass(20 * time.Second)
		c.wantOneAnswer(w, "You said: Ada: Hi")
	})
}

// What Discord refuses of the acknowledgment and of the answer is repeated until it is shown, once.
func TestSlashAskThroughFaults(t *testing.T) {
	html := http.Header{"Content-Type": {"text/html"}}
	for name, f := range map[string]discordfake.Fault{
		"a user's limit": discordfake.TooManyRequests(discordfake.ScopeUser, time.Second),
		"a shared limit": discordfake.TooManyRequests(discordfake.ScopeShared, time.Second),
		"an HTML page":   discordfake.Respond(http.StatusBadGateway, html, "<h1>502 Bad Gateway</h1>"),
		"cut off":        discordfake.DropBefore(),
		"answer lost":    discordfake.DropAfter(),
	} {
		for _, route := range []discordfake.Route{discordfake.AnswerPress, discordfake.EditOriginal} {
			t.Run(fmt.Sprint(name, " ", route.Method()), subtest.Of(onDiscord, func(c *chatHarness, w *discordworld.Platform) {
				w.Fake.Fault(discordfake.Match{Route: route}, f)
				w.Command(connectortest.Ada, c.group, "ask", "question", "Hi")
				c.Pass(time.Minute)
				c.wantOneAnswer(w, "You said: Ada: Hi")
			}))
		}
	}
}

// A stopped /ask ends the bot's thinking too, whether its answer had begun or still waited for another one.
func TestSlashAskIsStopped(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.model.Queue(slowScript(tale), slowScript(tale))
		w.Command(connectortest.Ada, c.group, "ask", "question", "Tell me")
		w.Command(connectortest.Bob, c.group, "ask", "question", "Me too")
		c.Pass(200 * time.Millisecond)
		w.Command(connectortest.Ada, c.group, "stop")
		c.Pass(time.Minute)
		c.WaitIdle()
		if users := w.Fake.Thinking(string(c.group)); len(users) != 0 {
			t.Errorf("%d users see the bot think; want none: %q", len(users), connectortest.BotTexts(c, c.group))
		}
	})
}
