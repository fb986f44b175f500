package stories_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/models/modelfake"
)

// TR-35, ST-01: after three long answers within a minute a group still gets the first text of the next at once, and sees
// soon that it was stopped: stream edits have left requests for that.
func TestBusyGroup(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		const long = tale + " And so on and so forth, until the night came down."
		begun := time.Now()
		for range 3 {
			c.model.Queue(slowScript(long))
			c.Mention(connectortest.Ada, c.group, "Tell us")
			c.WaitIdle()
		}
		if d := time.Since(begun); d > time.Minute {
			t.Errorf("three answers took %v", d)
		}
		c.model.Queue(modelfake.Script{modelfake.Pace(300 * time.Millisecond), modelfake.Text("Alas, this time "+long, modelfake.ByWord), modelfake.Pause(time.Hour)})
		c.Mention(connectortest.Bob, c.group, "And again")
		asked := time.Now()
		c.waitShown(c.group, "Alas")
		if d := time.Since(asked); d > 2500*time.Millisecond {
			t.Errorf("the first text of the fourth answer came after %v", d)
		}
		c.Pass(8 * time.Second)
		c.Mention(connectortest.Bob, c.group, "/stop")
		stopped := time.Now()
		c.waitShown(c.group, "topped")
		if d := time.Since(stopped); d > 4*time.Second {
			t.Errorf("/stop was seen after %v", d)
		}
		c.WaitIdle()
	})
}

// DI-15: limits.parallel counts one person's answers, and limits.parallel_total those of all. Who comes later waits, and is answered.
func TestAnswersAtTheSameTime(t *testing.T) {
	for name, c := range map[string]struct{ person, total, asked int }{"one for each person": {1, 0, 2}, "one for all": {0, 1, 1}, "no limit": {0, 0, 3}} {
		t.Run(name, func(t *testing.T) {
			limits := c
			onPlatform(t, platforms()[0], func(cfg *config.Config) {
				cfg.Limits.Parallel, cfg.Limits.ParallelTotal = limits.person, limits.total
			}, func(c *chatHarness) {
				c.choose = func(modelfake.Request) modelfake.Script {
					return modelfake.Script{modelfake.Pause(time.Minute), modelfake.Text("Done.")}
				}
				c.Say(connectortest.Ada, c.ada, "first")
				c.Pass(time.Second)
				c.Mention(connectortest.Ada, c.group, "second")
				c.Pass(time.Second)
				c.Say(connectortest.Bob, c.Direct(connectortest.Bob), "third")
				c.Pass(20 * time.Second)
				c.wantModelCalls(limits.asked)
				for _, in := range []connectortest.Room{c.ada, c.group, c.Direct(connectortest.Bob)} {
					c.wantShown(in, "Done.")
				}
			})
		})
	}
}

// Commands that offer buttons take no place of limits.parallel, whatever is pressed: afterwards as many answers as before are written at
// the same time, and no more.
func TestCommandsTakeNoPlace(t *testing.T) {
	onEachPlatform(t, func(cfg *config.Config) {
		cfg.Limits.Parallel, cfg.Limits.ParallelTotal = 2, 2
	}, func(c *chatHarness) {
		c.choose = func(modelfake.Request) modelfake.Script {
			return modelfake.Script{modelfake.Pause(time.Minute), modelfake.Text("Done.")}
		}
		for _, press := range []int{1, 1, -1, -1} {
			c.Say(connectortest.Ada, c.ada, "/new")
			c.Pass(time.Minute)
			if press >= 0 {
				c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, press)
				c.Pass(time.Minute)
			}
		}
		c.Say(connectortest.Ada, c.ada, "first")
		c.Pass(time.Second)
		c.Mention(connectortest.Ada, c.group, "second")
		c.Pass(time.Second)
		c.Say(connectortest.Bob, c.Direct(connectortest.Bob), "third")
		c.Pass(20 * time.Second)
		c.wantModelCalls(2)
		c.Pass(3 * time.Minute)
		for _, in := range []connectortest.Room{c.ada, c.group, c.Direct(connectortest.Bob)} {
			if own := connectortest.BotTexts(c, in); own[len(own)-1] != "Done." {
				c.Errorf(`the last answer is %q; want "Done."`, own[len(own)-1])
			}
		}
	})
}

// The same on the web, where the visitors of one address are one person.
func TestCommandsOfAVisitorTakeNoPlace(t *testing.T) {
	withGateway(t, func(cfg *config.Config) { cfg.Limits.Parallel = 1 }, func(s *harness) {
		c, other := s.newConversation(), s.newConversation()
		for _, id := range []string{"1", "2", "3"} {
			s.readAll(s.send(c, id, "/new"))
		}
		if end := s.readAll(s.send(other, "1", "Hello")); end.FullText == nil || *end.FullText == "" {
			s.Errorf("another visitor reads %s", end.Raw)
		}
	})
}

// access.always.rooms: no mention is needed there, but unknown users stay unknown.
func TestChatAlwaysAnswered(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Say(connectortest.Ada, c.group, "just saying")
		c.Pass(time.Minute)
		c.wantModelCalls(0)
		c.shutdown()
		name, _, _ := strings.Cut(c.Account(connectortest.Ada), ":")
		c.cfg.Access.Always.Rooms = []config.Chat{config.Chat(name + ":" + string(c.group))}
		c.start()
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.group, "hello all")
		c.Say(connectortest.Eve, c.group, "me too")
		c.WaitIdle()
		c.wantModelCalls(1)
		if own := connectortest.BotTexts(c, c.group); len(own) != 1 || !strings.Contains(own[0], "hello all") {
			t.Errorf("the group reads %q", own)
		}
	})
}

// IN-05: another bot is answered if it is allowed to be, three times in a row; then it waits for a person.
func TestChatBotsAllowed(t *testing.T) {
	mention := func(cfg *config.Config) { cfg.Access.Bots = "mention" }
	onEachPlatform(t, mention, func(c *chatHarness) {
		c.Mention(connectortest.Robot, c.group, "I was not invited")
		c.Pass(time.Minute)
		c.wantModelCalls(0)
		c.shutdown()
		c.cfg.People.Allowed = append(c.cfg.People.Allowed, config.Member(c.Account(connectortest.Robot)))
		c.start()
		c.Pass(10 * time.Second)
		for n := range 5 {
			c.Mention(connectortest.Robot, c.group, fmt.Sprintf("beep %d", n))
			c.Pass(20 * time.Second)
		}
		c.WaitIdle()
		c.wantModelCalls(3)
		c.Mention(connectortest.Ada, c.group, "let it talk")
		c.WaitIdle()
		c.Mention(connectortest.Robot, c.group, "thank you")
		c.WaitIdle()
		c.wantModelCalls(5)
	})
}
