package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"

	"parley/models/modelfake"
)

// addSchedule adds a schedule of the group to the configuration.
func (c *chatHarness) addSchedule(cfg *config.Config, s config.Schedule) {
	if s.Room == "" {
		s.Room = config.Place(c.name + ":" + string(c.group))
	}
	cfg.Timezone = "UTC"
	cfg.Schedules = append(cfg.Schedules, s)
}

// passUntil passes the time until the clock shows an hour and a minute in UTC.
func (c *chatHarness) passUntil(hour, minute int) {
	now := time.Now().UTC()
	at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, time.UTC)
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	c.Pass(time.Until(at))
}

// restartWith starts the gateway again with other settings.
func (c *chatHarness) restartWith(edit func(*config.Config)) {
	c.shutdown()
	edit(&c.cfg)
	c.start()
	c.Pass(10 * time.Second)
}

// A schedule makes the agent answer a prompt or say a text in its room, at its times and once, also if the process died in between.
func TestScheduleRunsOnceAtItsTimes(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Mention(connectortest.Ada, c.group, "Hello")
		c.Pass(time.Minute)
		c.restartWith(func(cfg *config.Config) {
			c.addSchedule(cfg, config.Schedule{Name: "tea", Cron: "0 1 * * *", Text: "Tea time!"})
			c.addSchedule(cfg, config.Schedule{Name: "standup", Cron: "30 0 * * *", Prompt: "Ask what they do today."})
			c.addSchedule(cfg, config.Schedule{Name: "lunch", Cron: "20 0 * * *", Text: "Lunch!", Jitter: 20 * time.Minute}) // later by 15m44s
			c.addSchedule(cfg, config.Schedule{Name: "elsewhere", Cron: "30 0 * * *", Room: c.unknownPlace(), Text: "Is anyone here?"})
		})
		before := len(connectortest.BotTexts(c, c.group))
		c.passUntil(0, 29)
		c.model.Queue(modelfake.Script{modelfake.Text("What do you do today?")})
		c.passUntil(0, 59)
		c.restart()
		c.passUntil(1, 5)
		if got := connectortest.BotTexts(c, c.group)[before:]; !slices.Equal(got, []string{"What do you do today?", "Lunch!", "Tea time!"}) {
			c.Errorf("the group reads %q", got)
		}
		if all := c.model.Requests(); !strings.Contains(string(all[len(all)-1].Raw), "Schedule standup: Ask what they do today.") {
			c.Errorf("the model reads %s", all[len(all)-1].Raw)
		}
		if !strings.Contains(c.Logged.String(), "the room of a schedule is not known; write to the agent there first") {
			c.Error("the owner does not learn that a room is not known")
		}
	})
}

// unknownPlace is a chat that the agent has never seen a message in.
func (c *chatHarness) unknownPlace() config.Place {
	if c.name == "telegram" {
		return "telegram:-1009999999999"
	}
	return "discord:999999999999999999"
}

// What is missed is left out, or made up for once; what was before the schedule is not missed.
func TestMissedSchedules(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Mention(connectortest.Ada, c.group, "Hello")
		c.Pass(time.Minute)
		c.passUntil(0, 30)
		c.restartWith(func(cfg *config.Config) {
			c.addSchedule(cfg, config.Schedule{Name: "skipped", Cron: "0 * * * *", Text: "Skipped."})
			c.addSchedule(cfg, config.Schedule{Name: "once", Cron: "0 * * * *", Text: "Once.", Missed: config.MissedOnce})
		})
		before := len(connectortest.BotTexts(c, c.group))
		c.Pass(20 * time.Minute)
		c.shutdown()
		time.Sleep(4 * time.Hour)
		if got := connectortest.BotTexts(c, c.group)[before:]; len(got) != 0 {
			c.Errorf("before a time the group reads %q; want none", got)
		}
		c.start()
		c.Pass(time.Minute)
		if got := connectortest.BotTexts(c, c.group)[before:]; !slices.Equal(got, []string{"Once."}) {
			c.Errorf("after a pause the group reads %q", got)
		}
		c.passUntil(5, 1)
		if got := connectortest.BotTexts(c, c.group)[before+1:]; len(got) != 2 {
			c.Errorf("at the next time the group reads %q; want 2", got)
		}
	})
}

// What is due in quiet hours waits until they end, once, or is left out; a muted room gets nothing.
func TestSchedulesInQuietHours(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Mention(connectortest.Ada, c.group, "Hello")
		c.Pass(time.Minute)
		c.passUntil(0, 30)
		c.restartWith(func(cfg *config.Config) {
			cfg.Initiative.QuietHours = "01:00-03:00"
			c.addSchedule(cfg, config.Schedule{Name: "waits", Cron: "30 1-2 * * *", Text: "Waited."})
			c.addSchedule(cfg, config.Schedule{Name: "dropped", Cron: "30 1-2 * * *", Text: "Dropped.", Quiet: config.QuietDrop})
		})
		before := len(connectortest.BotTexts(c, c.group))
		c.passUntil(2, 59)
		if got := connectortest.BotTexts(c, c.group)[before:]; len(got) != 0 {
			c.Errorf("in the quiet hours the group reads %q; want none", got)
		}
		c.passUntil(3, 10)
		if got := connectortest.BotTexts(c, c.group)[before:]; !slices.Equal(got, []string{"Waited."}) {
			c.Errorf("after the quiet hours the group reads %q", got)
		}
	})
}

// Each schedule has its time zone or that of the agent. Where the clock of a zone is changed, also while the gateway is not running, a time of
// day comes once.
func TestSchedulesInTimeZones(t *testing.T) {
	type step struct {
		until string // what the clock shows in UTC
		down  bool   // the gateway does not run before
		want  []string
	}
	for begin, steps := range map[string][]step{
		"2026-03-29T00:50:00Z": { // the clock in Berlin goes from 02:00 to 03:00, which is 01:00 in UTC
			{"2026-03-29T01:29:00Z", false, nil},
			{"2026-03-29T01:31:00Z", false, []string{"Berlin."}},
			{"2026-03-29T01:50:00Z", true, []string{"Made up for."}},
			{"2026-03-29T02:01:00Z", false, []string{"Kolkata."}},
			{"2026-03-30T00:25:00Z", true, nil},
			{"2026-03-30T00:46:00Z", false, []string{"Berlin.", "Made up for."}},
		},
		"2026-10-25T00:20:00Z": { // it goes from 03:00 to 02:00, which is 01:00 in UTC
			{"2026-10-25T00:31:00Z", false, []string{"Berlin."}},
			{"2026-10-25T00:50:00Z", true, []string{"Made up for."}},
			{"2026-10-25T01:40:00Z", false, nil},
			{"2026-10-25T01:50:00Z", true, nil},
			{"2026-10-25T02:01:00Z", false, []string{"Kolkata."}},
			{"2026-10-26T01:25:00Z", true, nil},
			{"2026-10-26T01:46:00Z", false, []string{"Berlin.", "Made up for."}},
			{"2026-10-27T03:00:00Z", true, []string{"Made up for."}},
		},
	} {
		onPlatform(t, platforms()[0], nil, func(c *chatHarness) {
			c.stopUntil(begin)
			c.Mention(connectortest.Ada, c.group, "Hello")
			c.Pass(time.Minute)
			c.restartWith(func(cfg *config.Config) {
				c.addSchedule(cfg, config.Schedule{Name: "agent", Cron: "30 2 * * *", Text: "Berlin."})
				c.addSchedule(cfg, config.Schedule{Name: "own", Cron: "30 7 * * *", Timezone: "Asia/Kolkata", Text: "Kolkata."})
				c.addSchedule(cfg, config.Schedule{Name: "missed", Cron: "45 2 * * *", Text: "Made up for.", Missed: config.MissedOnce})
				cfg.Timezone = "Europe/Berlin"
			})
			for _, step := range steps {
				before := len(connectortest.BotTexts(c, c.group))
				if step.down {
					c.stopUntil(step.until)
				} else {
					c.Pass(timeTo(t, step.until))
				}
				if got := connectortest.BotTexts(c, c.group)[before:]; !slices.Equal(got, step.want) {
					c.Errorf("until %s the group reads %q, not %q", step.until, got, step.want)
				}
			}
		})
	}
}

// stopUntil stops the gateway until the clock shows a time, and starts it again.
func (c *chatHarness) stopUntil(at string) {
	c.shutdown()
	time.Sleep(timeTo(c.T, at))
	c.start()
	c.Pass(10 * time.Second)
}

// timeTo returns how long it is to a time.
func timeTo(t *testing.T, at string) time.Duration {
	t.Helper()
	when := require.Value(time.Parse(time.RFC3339, at))(t)
	return time.Until(when)
}
