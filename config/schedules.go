package config

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"parley/internal/cron"
)

// Schedule has the agent do something at certain times.
type Schedule struct {
	// A short name: lower-case letters, digits and hyphens. Another name is another schedule.
	Name string `yaml:"name"`
	// When: minute, hour, day of the month, month and day of the week, such as "0 9 * * 1-5".
	Cron string `yaml:"cron"`
	// Its time zone. Empty = initiative.timezone.
	Timezone string `yaml:"timezone"`
	// Where: a group or channel, or an account for its direct chat. The agent must have had a message there.
	Room Place `yaml:"room"`
	// What the agent is asked to do. It answers with the rights of a guest.
	Prompt string `yaml:"prompt"`
	// Instead of prompt: what it says, without asking the model.
	Text string `yaml:"text"`
	// It is done up to this much later, so that not everything happens at once. At most 1h, and shorter than the time between two.
	Jitter time.Duration `yaml:"jitter" default:"0s"`
	// What is missed while the gateway is not running: skip = it is left out; once = it is done at the start, the latest time only.
	Missed MissedRule `yaml:"missed" default:"skip"`
	// What is due in initiative.quiet_hours: wait = it is done when they end, the latest time only; drop = it is left out.
	Quiet QuietRule `yaml:"quiet" default:"wait"`
}

// MissedRule is what becomes of what is missed.
type MissedRule string

// MissedOnce makes up for the latest.
const MissedOnce MissedRule = "once"

// Words returns the allowed values.
func (MissedRule) Words() []string { return []string{"skip", string(MissedOnce)} }

// QuietRule is what becomes of what is due in quiet hours.
type QuietRule string

// QuietDrop leaves it out.
const QuietDrop QuietRule = "drop"

// Words returns the allowed values.
func (QuietRule) Words() []string { return []string{"wait", string(QuietDrop)} }

// Times returns the times of the schedule.
func (s Schedule) Times(i Initiative) (cron.Schedule, error) {
	zone := i.Zone()
	if s.Timezone != "" {
		var err error
		if zone, err = time.LoadLocation(s.Timezone); err != nil {
			return cron.Schedule{}, err
		}
	}
	return cron.Parse(s.Cron, zone)
}

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
		} else if _, err := s.Times(c.Initiative); err != nil {
			d.reject(path+".cron", "is not a cron expression that is ever due",
				`write minute, hour, day of the month, month and day of the week, such as "0 9 * * 1-5"`)
		}
		if s.Jitter < 0 || s.Jitter > longestJitter {
			d.reject(path+".jitter", "is not between 0s and 1h", "set a duration, such as 5m")
		}
	}
}

// checkTask checks what schedules and hooks have in common.
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
