package config

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"parley/internal/cron"
	"parley/internal/quiethours"
	"parley/internal/sections"
)

// Schedule has the agent do something at certain times.
type Schedule struct {
	// A short name: lower-case letters, digits and hyphens. Another name is another schedule.
	Name string `yaml:"name"`
	// When: minute, hour, day of the month, month and day of the week, such as "0 9 * * 1-5".
	Cron string `yaml:"cron"`
	// Its time zone. Empty = timezone.
	Timezone string `yaml:"timezone"`
	// Where: a group or channel, or an account for its direct chat. The agent must have had a message there.
	Room Place `yaml:"room"`
	// The task for the agent. It answers with the rights of a guest.
	Prompt string `yaml:"prompt"`
	// Instead of prompt: the text to send, without asking the model.
	Text string `yaml:"text"`
	// It is done up to this much later, so that not everything happens at once. At most 1h, and shorter than the time between two.
	Jitter time.Duration `yaml:"jitter" default:"0s"`
	// Times that are missed while the gateway is not running: skip = they are left out; once = the latest one is made up for
	// at the start.
	Missed MissedRule `yaml:"missed" default:"skip"`
	// Times in initiative.quiet_hours: wait = the latest one is made up for when they end; drop = they are left out.
	Quiet QuietRule `yaml:"quiet" default:"wait"`
}

// Times returns the times of a schedule. It fails for an unknown time zone, and for a cron expression that can't be
// parsed.
func (c Config) Times(s Schedule) (cron.Schedule, error) {
	zone := c.Zone()
	if s.Timezone != "" {
		var err error
		if zone, err = time.LoadLocation(s.Timezone); err != nil {
			return cron.Schedule{}, err
		}
	}
	return cron.Parse(s.Cron, zone)
}

// MissedRule is the treatment of missed times.
type MissedRule string

// Words returns the allowed values.
func (MissedRule) Words() []string { return []string{"skip", string(MissedOnce)} }

// MissedOnce makes up for the latest.
const MissedOnce MissedRule = "once"

// QuietRule is the treatment of times in quiet hours.
type QuietRule string

// Words returns the allowed values.
func (QuietRule) Words() []string { return []string{"wait", string(QuietDrop)} }

// QuietDrop leaves it out.
const QuietDrop QuietRule = "drop"

const longestJitter = time.Hour

var taskName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

func (d checker) checkSchedules(c *Config) {
	names := map[string]bool{}
	for i, s := range c.Schedules {
		path := fmt.Sprintf("schedules[%d]", i)
		if d.broken(path) {
			continue
		}
		d.checkTask(path, s.Name, names, s.Room, s.Prompt, s.Text)
		if _, err := time.LoadLocation(s.Timezone); err != nil {
			d.reject(path+".timezone", "is not a time zone", "write UTC, Local, or a place such as Europe/Berlin")
		} else if _, err := c.Times(s); err != nil {
			d.reject(path+".cron", "is not a cron expression that is ever due",
				`write minute, hour, day of the month, month and day of the week, such as "0 9 * * 1-5"`)
		}
		if s.Jitter < 0 || s.Jitter > longestJitter {
			d.reject(path+".jitter", "is not between 0s and 1h", "set a duration, such as 5m")
		}
	}
}

// checkTask checks the common keys of schedules and hooks.
func (d checker) checkTask(path, name string, names map[string]bool, room Place, prompt, text string) {
	prompt, text = strings.TrimSpace(prompt), strings.TrimSpace(text)
	switch {
	case !taskName.MatchString(name):
		d.reject(path+".name", "is not a name of at most 40 lower-case letters, digits and hyphens", "for example standup")
	case names[name]:
		d.reject(path+".name", "is a duplicate", "give each another name")
	case room == "":
		d.reject(path+".room", "is empty", "set the platform and the id of a group, channel or account")
	case (prompt == "") == (text == ""):
		d.reject(path, "has not exactly one of prompt and text", "set one of them")
	}
	names[name] = true
}

// Hook has the agent do something when another program calls it.
type Hook struct {
	// A short name, which ends the address: lower-case letters, digits and hyphens.
	Name string `yaml:"name"`
	// The secret that calls must bring as "Authorization: Bearer SECRET": at least 16 characters. Empty = no calls are
	// accepted.
	Secret Secret `yaml:"secret"`
	// Where: a group or channel, or an account for its direct chat. The agent must have had a message there.
	Room Place `yaml:"room"`
	// The task for the agent. {{build.status}} is a value of the JSON body, in quotation marks. The whole body comes with it as a
	// file. It answers with the rights of a guest.
	Prompt string `yaml:"prompt"`
	// Instead of prompt: the text to send, without asking the model.
	Text string `yaml:"text"`
	// How many calls are accepted in a minute.
	PerMinute int `yaml:"per_minute" default:"30"`
	// Calls in initiative.quiet_hours: wait = it is done when they end; drop = it is left out.
	Quiet QuietRule `yaml:"quiet" default:"wait"`
}

const shortestSecret = 16

func (d checker) checkHooks(all []Hook) {
	names := map[string]bool{}
	for i, h := range all {
		path := fmt.Sprintf("hooks[%d]", i)
		if d.broken(path) {
			continue
		}
		d.checkTask(path, h.Name, names, h.Room, h.Prompt, h.Text)
		sections.Reject(d.reject).Secret(path+".secret", h.Secret, nil, "set the secret alone, without spaces or line breaks")
		if n := len(h.Secret.Reveal()); n > 0 && n < shortestSecret {
			d.reject(path+".secret", "is shorter than 16 characters", "make a random one, for example with openssl rand -hex 32")
		}
		if h.PerMinute < 1 || h.PerMinute > 600 {
			d.reject(path+".per_minute", "is not between 1 and 600", "the default is 30")
		}
	}
}

// Initiative configures messages that the agent sends on its own initiative.
type Initiative struct {
	// Hours of each day without messages on the agent's initiative, such as "22:00-07:00". Due messages are sent when they
	// end. Empty = none.
	QuietHours string `yaml:"quiet_hours"`
	// true = users can have the agent remind them of something.
	Reminders bool `yaml:"reminders" default:"true"`
}

// Zone returns the time zone.
func (c Config) Zone() *time.Location {
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil {
		return time.Local // Parse has validated the name
	}
	return zone
}

// Quiet returns the quiet hours.
func (c Config) Quiet() quiethours.Hours {
	h, err := quiethours.Parse(c.Initiative.QuietHours, c.Zone())
	if err != nil {
		return quiethours.Hours{} // Parse has validated them
	}
	return h
}

func (d checker) checkInitiative(c *Config) {
	if _, err := time.LoadLocation(c.Timezone); err != nil || c.Timezone == "" {
		d.reject("timezone", "is not a time zone", "write UTC, Local, or a place such as Europe/Berlin")
	}
	if _, err := quiethours.Parse(c.Initiative.QuietHours, time.UTC); err != nil {
		d.reject("initiative.quiet_hours", "are not hours of the day", `write them such as "22:00-07:00"`)
	}
}
