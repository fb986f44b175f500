package stories_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/chat"

	"parley/internal/lang"
	"parley/internal/require"
	"parley/models/modelfake"
)

// setReminder has the model set a reminder when from next speaks in a place.
func (c *chatHarness) setReminder(from connectortest.User, in connectortest.Room, parameters string) {
	c.model.Queue(modelfake.Script{modelfake.ToolCall("c", "REMIND_ME", parameters)}, modelfake.Script{modelfake.Text("I will.")})
	c.Mention(from, in, "remind me please")
	c.Pass(20 * time.Second)
}

// reminders returns what the agent has sent in a place as reminders.
func (c *chatHarness) reminders(in connectortest.Room) (all []string) {
	for _, text := range connectortest.BotTexts(c, in) {
		if strings.HasPrefix(text, "⏰") {
			all = append(all, text)
		}
	}
	return all
}

// A reminder is sent once, at its time, also if the process ended or died in between; one that was missed is sent late, with a note.
func TestReminderIsSentOnce(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.setReminder(connectortest.Ada, c.ada, `{"text":"call mum","in_minutes":60}`)
		c.setReminder(connectortest.Ada, c.group, `{"text":"stretch","in_minutes":120}`)
		c.shutdown()
		c.start()
		c.Pass(50 * time.Minute)
		if got := c.reminders(c.ada); len(got) != 0 {
			c.Fatalf("before its time she reads %q; want none", got)
		}
		c.Pass(10 * time.Minute)
		if got := c.reminders(c.ada); !slices.Equal(got, []string{"⏰ call mum"}) {
			c.Fatalf("she reads %q", got)
		}
		c.crash()
		time.Sleep(3 * time.Hour)
		c.start()
		c.Pass(time.Hour)
		if got := c.reminders(c.group); len(got) != 1 || !strings.HasPrefix(got[0], "⏰ Ada: stretch\n(This was due on ") {
			c.Errorf("the group reads %q", got)
		}
		if got := c.reminders(c.ada); len(got) != 1 {
			c.Errorf("after that she reads %q; want 1", got)
		}
		c.Say(connectortest.Ada, c.ada, "/reminders")
		c.Pass(time.Minute)
		if own := connectortest.BotTexts(c, c.ada); own[len(own)-1] != "You have no reminders here." {
			c.Errorf("the list says %q", own)
		}
	})
}

// A crash at any moment around its time neither loses a reminder nor sends it twice.
func TestReminderAndACrash(t *testing.T) {
	for at := 1; at <= 10; at += 3 {
		onEachPlatform(t, nil, func(c *chatHarness) {
			c.setReminder(connectortest.Ada, c.ada, `{"text":"call mum","in_minutes":60}`)
			c.Pass(50 * time.Minute)
			f := &crashPoint{at: at, death: c.kill}
			c.crashPoint.Store(f)
			if c.platform.noLookup {
				c.allowedOrphans = 1
			}
			c.passRestarting(f, 20*time.Minute)
			c.crashPoint.Store(nil)
			if n := f.moments(); n < 8 {
				c.Errorf("there were %d moments; want at least 8", n)
			}
			all := c.reminders(c.ada)
			unmarked := slices.DeleteFunc(slices.Clone(all), func(text string) bool { return strings.HasSuffix(text, lang.Voice{}.Say("message.repeated")) })
			if len(all) == 0 || len(unmarked) > 1 {
				c.Errorf("death at moment %d: she reads %q", at, all)
			}
		})
	}
}

// Only their author lists and cancels reminders; repeated ones come again, and not in the quiet hours.
func TestReminders(t *testing.T) {
	// Soon after the story begins: every simulated hour costs the test time.
	quiet := func(cfg *config.Config) {
		cfg.Timezone, cfg.Initiative.QuietHours = "UTC", "22:00-23:30"
		time.Sleep(22*time.Hour + 10*time.Minute) // before the gateway runs, which costs nothing
	}
	onEachPlatform(t, quiet, func(c *chatHarness) {
		now := time.Now().UTC()
		late := time.Date(now.Year(), now.Month(), now.Day(), 23, 0, 0, 0, time.UTC)
		c.setReminder(connectortest.Ada, c.group, fmt.Sprintf(`{"text":"sleep","at":%q,"repeat":"hourly"}`, late.Format("2006-01-02T15:04")))
		if got := c.modelRequest(1); !strings.Contains(got, "quiet hours, so it will be sent at 23:30") {
			c.Errorf(`the model reads %s; want it to contain "quiet hours, so it will be sent at 23:30"`, got)
		}
		c.setReminder(connectortest.Ada, c.group, `{"text":"tea","in_minutes":6000}`)
		list := func(who connectortest.User, command string) string {
			c.Mention(who, c.group, command)
			c.Pass(time.Minute)
			own := connectortest.BotTexts(c, c.group)
			return own[len(own)-1]
		}
		if got := list(connectortest.Ada, "/reminders"); !strings.Contains(got, "23:00 UTC: sleep (hourly)") || !strings.Contains(got, "2. ") {
			c.Errorf(`her list is %q; want it to contain "23:00 UTC: sleep (hourly)" and it to contain "2. "`, got)
		}
		if got := list(connectortest.Bob, "/reminders"); got != "You have no reminders here." {
			c.Errorf(`his list is %q; want "You have no reminders here."`, got)
		}
		if got := list(connectortest.Bob, "/reminders cancel 1"); !strings.HasPrefix(got, "There is no reminder with this number.") {
			c.Errorf(`he cancels: %q; want it to begin with "There is no reminder with this number."`, got)
		}
		if got := list(connectortest.Ada, "/reminders cancel 2"); got != "Cancelled: tea" {
			c.Errorf(`she cancels: %q; want "Cancelled: tea"`, got)
		}
		c.Pass(time.Until(late.Add(29 * time.Minute)))
		if got := c.reminders(c.group); len(got) != 0 {
			c.Errorf("in the quiet hours they read %q; want none", got)
		}
		c.Pass(2 * time.Minute)
		c.Pass(time.Hour)
		if got := c.reminders(c.group); len(got) != 2 || !strings.HasPrefix(got[0], "⏰ Ada: sleep\n(This was due on ") {
			c.Errorf("in two hours they read %q", got)
		}
	})
}

// Reminders count towards the limit of messages, and wait for the next day.
func TestReminderAtALimit(t *testing.T) {
	most := 1
	evening := func(cfg *config.Config) {
		cfg.Limits.Person.Messages = &most
		time.Sleep(23*time.Hour + 30*time.Minute) // before the gateway runs, which costs nothing
	}
	onEachPlatform(t, evening, func(c *chatHarness) {
		c.setReminder(connectortest.Ada, c.ada, `{"text":"call mum","in_minutes":5}`)
		now := time.Now().UTC()
		midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
		c.Pass(time.Until(midnight) - time.Minute)
		if got := c.reminders(c.ada); len(got) != 0 {
			c.Errorf("over the limit she reads %q; want none", got)
		}
		c.Pass(2 * time.Minute)
		if got := c.reminders(c.ada); len(got) != 1 {
			c.Errorf("the next day she reads %q; want 1", got)
		}
	})
}

// On the web a reminder stands in the conversation.
func TestReminderOnTheWeb(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		s.model.Queue(modelfake.Script{modelfake.ToolCall("c", "REMIND_ME", `{"text":"call mum","in_minutes":1}`)}, modelfake.Script{modelfake.Text("I will.")})
		s.readAll(s.send(c, "1", "remind me"))
		time.Sleep(2 * time.Minute)
		all := require.Value(s.Store.Recent(s.Context(), s.rooms()[0], chat.Said, 0, 9))(s)
		if last := all[len(all)-1].Text; last != "⏰ call mum" {
			s.Errorf(`the last message is %q; want "⏰ call mum"`, last)
		}
	})
}
