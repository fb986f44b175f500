package config

import (
	"time"

	"parley/internal/quiethours"
)

// Initiative configures what the agent sends without being asked right then.
type Initiative struct {
	// The time zone of reminders and quiet hours, and of the time that the agent knows: UTC, Local for this machine's
	// time zone, or a name such as Europe/Berlin.
	Timezone string `yaml:"timezone" default:"Local"`
	// Hours of each day in which nothing is sent on the agent's initiative, such as "22:00-07:00". What is due then is sent when they
	// end. Empty = none.
	QuietHours string `yaml:"quiet_hours"`
	// true = users can have the agent remind them of something.
	Reminders bool `yaml:"reminders" default:"true"`
}

// Zone returns the time zone.
func (i Initiative) Zone() *time.Location {
	zone, err := time.LoadLocation(i.Timezone)
	if err != nil {
		return time.Local // Parse has validated the name
	}
	return zone
}

// Quiet returns the quiet hours.
func (i Initiative) Quiet() quiethours.Hours {
	h, err := quiethours.Parse(i.QuietHours, i.Zone())
	if err != nil {
		return quiethours.Hours{} // Parse has validated them
	}
	return h
}

func (d checker) checkInitiative(i Initiative) {
	if _, err := time.LoadLocation(i.Timezone); err != nil || i.Timezone == "" {
		d.reject("initiative.timezone", "is not a time zone", "write UTC, Local, or a place such as Europe/Berlin")
	}
	if _, err := quiethours.Parse(i.QuietHours, time.UTC); err != nil {
		d.reject("initiative.quiet_hours", "are not hours of the day", `write them such as "22:00-07:00"`)
	}
}
