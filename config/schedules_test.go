package config

import (
	"strings"
	"testing"
	"time"
)

func TestSchedules(t *testing.T) {
	c := parse(t, `
timezone: Europe/Berlin
schedules:
  - {name: standup, cron: "0 9 * * 1-5", room: "telegram:-1001234567890", prompt: "Ask everyone what they do today."}
  - {name: tea, cron: "@daily", timezone: UTC, room: "telegram:123456789", text: Tea time!, jitter: 10m, missed: once, quiet: drop}
`, nil)
	if len(c.Schedules) != 2 || c.Schedules[0].Missed != "skip" || c.Schedules[0].Quiet != "wait" || c.Schedules[1].Jitter != 10*time.Minute {
		t.Fatalf("%+v", c.Schedules)
	}
	at := time.Date(2026, 7, 6, 12, 0, 0, 0, time.UTC)
	for i, want := range []string{"2026-07-06T07:00:00Z", "2026-07-06T00:00:00Z"} {
		times, err := c.Times(c.Schedules[i])
		if err != nil {
			t.Fatal(err)
		}
		if got := times.Last(at).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s is last due at %s", c.Schedules[i].Name, got)
		}
	}
}

func TestWrongSchedules(t *testing.T) {
	const rest = `, cron: "0 9 * * *", room: "telegram:-100", prompt: x`
	for yaml, want := range map[string]string{
		`{name: a` + rest + `, text: y}`:                              "has not exactly one of prompt and text",
		`{name: a, cron: "0 9 * * *", room: "telegram:-100"}`:         "has not exactly one of prompt and text",
		`{name: "a b"` + rest + `}`:                                   "schedules[0].name",
		`{name: a` + rest + `}, {name: a` + rest + `}`:                "is a duplicate",
		`{name: a, cron: "0 9 * *", room: "telegram:-1", text: x}`:    "schedules[0].cron",
		`{name: a, cron: "0 9 31 2 *", room: "telegram:-1", text: x}`: "is not a cron expression that is ever due",
		`{name: a, cron: "0 9 * * *", text: x}`:                       "schedules[0].room",
		`{name: a, cron: "0 9 * * *", room: "here:1", text: x}`:       "is not a group, a channel or an account",
		`{name: a` + rest + `, timezone: Mars}`:                       "is not a time zone",
		`{name: a` + rest + `, jitter: 2h}`:                           "is not between 0s and 1h",
		`{name: a` + rest + `, missed: always}`:                       "is not one of these words",
	} {
		_, err := Parse("config.yaml", []byte("schedules: ["+yaml+"]"), t.TempDir(), environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}
