package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	. "parley/connectors/connectortest"

	. "parley/models/modelfake"
)

// scheduled adds a schedule of the group to the configuration.
func (c *chatStory) scheduled(cfg *config.Config, s config.Schedule) {
	if s.Room == "" {
		s.Room = config.Place(c.name + ":" + string(c.group))
	}
	cfg.Initiative.Timezone = "UTC"
	cfg.Schedules = append(cfg.Schedules, s)
}

// clock passes the time until the clock shows an hour and a minute in UTC.
func (c *chatStory) clock(hour, minute int) {
	now := time.Now().UTC()
	at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, time.UTC)
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	c.pass(time.Until(at))
}

// configured starts the gateway again with other settings.
func (c *chatStory) configured(edit func(*config.Config)) {
	c.shutdown()
	edit(&c.cfg)
	c.start()
	c.pass(10 * time.Second)
}

// A schedule makes the agent answer a prompt or say a text in its room, at its times and once, also if the process died in between.
func TestSchedule(t *testing.T) {
	onEach(t, nil, func(c *chatStory) {
		c.Mention(Ada, c.group, "Hello")
		c.pass(time.Minute)
		c.configured(func(cfg *config.Config) {
			c.scheduled(cfg, config.Schedule{Name: "tea", Cron: "0 1 * * *", Text: "Tea time!"})
			c.scheduled(cfg, config.Schedule{Name: "standup", Cron: "30 0 * * *", Prompt: "Ask what they do today."})
			c.scheduled(cfg, config.Schedule{Name: "elsewhere", Cron: "30 0 * * *", Room: c.elsewhere(), Text: "Is anyone here?"})
		})
		before := len(Own(c, c.group))
		c.clock(0, 29)
		c.model.Queue(Script{Text("What do you do today?")})
		c.clock(0, 59)
		c.crash()
		c.start()
		c.clock(1, 5)
		if got := Own(c, c.group)[before:]; !slices.Equal(got, []string{"What do you do today?", "Tea time!"}) {
			c.Errorf("the group reads %q", got)
		}
		if all := c.model.Requests(); !strings.Contains(string(all[len(all)-1].Raw), "Schedule standup: Ask what they do today.") {
			c.Errorf("the model reads %s", all[len(all)-1].Raw)
		}
		if !strings.Contains(c.log.String(), "the room of a schedule is not known; write to the agent there first") {
			c.Error("the owner does not learn that a room is not known")
		}
	})
}

// elsewhere is a chat that the agent has never seen a message in.
func (c *chatStory) elsewhere() config.Place {
	if c.name == "telegram" {
		return "telegram:-1009999999999"
	}
	return "discord:999999999999999999"
}

// What is missed is left out, or made up for once; what was before the schedule is not missed.
func TestMissedSchedules(t *testing.T) {
	onEach(t, nil, func(c *chatStory) {
		c.Mention(Ada, c.group, "Hello")
		c.pass(time.Minute)
		c.clock(0, 30)
		c.configured(func(cfg *config.Config) {
			c.scheduled(cfg, config.Schedule{Name: "skipped", Cron: "0 * * * *", Text: "Skipped."})
			c.scheduled(cfg, config.Schedule{Name: "once", Cron: "0 * * * *", Text: "Once.", Missed: config.MissedOnce})
		})
		before := len(Own(c, c.group))
		c.pass(20 * time.Minute)
		c.shutdown()
		time.Sleep(4 * time.Hour)
		if got := Own(c, c.group)[before:]; len(got) != 0 {
			c.Errorf("before a time the group reads %q", got)
		}
		c.start()
		c.pass(time.Minute)
		if got := Own(c, c.group)[before:]; !slices.Equal(got, []string{"Once."}) {
			c.Errorf("after a pause the group reads %q", got)
		}
		c.clock(5, 1)
		if got := Own(c, c.group)[before+1:]; len(got) != 2 {
			c.Errorf("at the next time the group reads %q", got)
		}
	})
}

// What is due in quiet hours waits until they end, once, or is left out; a muted room gets nothing.
func TestSchedulesInQuietHours(t *testing.T) {
	onEach(t, nil, func(c *chatStory) {
		c.Mention(Ada, c.group, "Hello")
		c.pass(time.Minute)
		c.clock(0, 30)
		c.configured(func(cfg *config.Config) {
			cfg.Initiative.QuietHours = "01:00-03:00"
			c.scheduled(cfg, config.Schedule{Name: "waits", Cron: "30 1-2 * * *", Text: "Waited."})
			c.scheduled(cfg, config.Schedule{Name: "dropped", Cron: "30 1-2 * * *", Text: "Dropped.", Quiet: config.QuietDrop})
		})
		before := len(Own(c, c.group))
		c.clock(2, 59)
		if got := Own(c, c.group)[before:]; len(got) != 0 {
			c.Errorf("in the quiet hours the group reads %q", got)
		}
		c.clock(3, 10)
		if got := Own(c, c.group)[before:]; !slices.Equal(got, []string{"Waited."}) {
			c.Errorf("after the quiet hours the group reads %q", got)
		}
	})
}
