package cron

import (
	"parley/internal/require"
	"testing"
	"time"
)

const form = "2006-01-02 15:04:05 MST"

func TestLast(t *testing.T) {
	for _, c := range []struct{ expression, zone, at, want string }{
		{"0 9 * * 1-5", "Europe/Berlin", "2026-11-23T08:30:00Z", "2026-11-23 09:00:00 CET"}, // a Monday
		{"0 9 * * 1-5", "Europe/Berlin", "2026-11-23T08:00:00Z", "2026-11-23 09:00:00 CET"},
		{"0 9 * * 1-5", "Europe/Berlin", "2026-11-23T07:59:59.999Z", "2026-11-20 09:00:00 CET"},
		{"0 9 * * 1-5", "UTC", "2026-11-22T12:00:00Z", "2026-11-20 09:00:00 UTC"},
		{"30 18 1 * *", "America/New_York", "2026-07-15T00:00:00Z", "2026-07-01 18:30:00 EDT"},
		{"0 0 29 2 *", "UTC", "2026-07-15T00:00:00Z", "2024-02-29 00:00:00 UTC"},
		{"@daily", "UTC", "2026-07-15T10:00:00Z", "2026-07-15 00:00:00 UTC"},
		{"*/15 * * * *", "Asia/Kathmandu", "2026-07-15T10:07:00Z", "2026-07-15 15:45:00 +0545"},

		// The clock is put forward on 2026-03-29, from 02:00 to 03:00.
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T01:15:00Z", "2026-03-28 02:30:00 CET"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T01:30:00Z", "2026-03-29 03:30:00 CEST"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T10:00:00Z", "2026-03-29 03:30:00 CEST"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-30T10:00:00Z", "2026-03-30 02:30:00 CEST"},
		{"*/30 * * * *", "Europe/Berlin", "2026-03-29T00:59:00Z", "2026-03-29 01:30:00 CET"},
		{"*/30 * * * *", "Europe/Berlin", "2026-03-29T01:01:00Z", "2026-03-29 03:00:00 CEST"},

		// It is put back on 2026-10-25, from 03:00 to 02:00.
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:29:00Z", "2026-10-24 02:30:00 CEST"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25 02:30:00 CEST"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T01:45:00Z", "2026-10-25 02:30:00 CEST"},
		{"*/30 * * * *", "Europe/Berlin", "2026-10-25T00:31:00Z", "2026-10-25 02:30:00 CEST"},
		{"*/30 * * * *", "Europe/Berlin", "2026-10-25T01:31:00Z", "2026-10-25 02:30:00 CET"},
	} {
		zone := require.Value(time.LoadLocation(c.zone))(t)
		at := require.Value(time.Parse(time.RFC3339, c.at))(t)
		s, err := Parse(c.expression, zone)
		if err != nil {
			t.Errorf("%s: %v", c.expression, err)
			continue
		}
		if got := s.Last(at).In(zone).Format(form); got != c.want {
			t.Errorf("%s before %s in %s is %s; want %s", c.expression, c.at, c.zone, got, c.want)
		}
	}
}

// Each time of day is due once a day, also on the days on which the clock is changed.
func TestTimesOfDayAreDueOnceADay(t *testing.T) {
	for _, c := range changes {
		for expression, daily := range map[string]int{
			"30 2 * * *": 1, "0 3 * * *": 1, "0 0 * * *": 1, "0 */6 * * *": 4, "0 */12 * * *": 2, "30 */4 * * *": 6, "0 */2 * * *": 12,
		} {
			if seen := len(dueAround(t, expression, c.zone, c.day)); seen != 3*daily {
				t.Errorf("%s in %s is due %d times in the three days around %s; want %d", expression, c.zone, seen, c.day, 3*daily)
			}
		}
	}
}

// An expression for every hour is due at each full hour that the clock shows, without a gap or a repetition, also where
// the clock is moved by half an hour.
func TestHourlyTimesHaveNoGap(t *testing.T) {
	for _, c := range changes {
		for _, expression := range []string{"0 * * * *", "0 */1 * * *", "0 0-23 * * *", "@hourly"} {
			due := dueAround(t, expression, c.zone, c.day)
			for i, at := range due {
				if at.Minute() != 0 {
					t.Errorf("%s in %s is due at %v", expression, c.zone, at)
				}
				if i > 0 && at.Sub(due[i-1]) > c.hour {
					t.Errorf("%s in %s is not due between %v and %v", expression, c.zone, due[i-1], at)
				}
			}
			if len(due) != c.hours {
				t.Errorf("%s in %s is due %d times in the three days around %s; want %d", expression, c.zone, len(due), c.day, c.hours)
			}
		}
	}
}

// changes are days on which a clock is changed, and one without a change.
var changes = []struct {
	zone, day string
	hours     int           // how often the clock shows a full hour in the three days
	hour      time.Duration // the longest time between two of them
}{
	{"Europe/Berlin", "2026-03-29", 71, time.Hour},
	{"Europe/Berlin", "2026-10-25", 73, time.Hour},
	{"America/New_York", "2026-03-08", 71, time.Hour},
	{"America/New_York", "2026-11-01", 73, time.Hour},
	{"Australia/Lord_Howe", "2026-10-04", 71, 90 * time.Minute},
	{"Australia/Lord_Howe", "2026-04-05", 72, 90 * time.Minute},
	{"UTC", "2026-03-29", 72, time.Hour},
}

// dueAround returns all times of the day before, of the day and of the day after at which an expression is due, as a watcher
// that asks every ten minutes finds them. Each must be later than the one before.
func dueAround(t *testing.T, expression, name, day string) []time.Time {
	t.Helper()
	zone := require.Value(time.LoadLocation(name))(t)
	s := require.Value(Parse(expression, zone))(t)
	date := require.Value(time.ParseInLocation(time.DateOnly, day, zone))(t)
	var due []time.Time
	begin, end := date.AddDate(0, 0, -1), date.AddDate(0, 0, 2)
	for at := begin; at.Before(end); at = at.Add(10 * time.Minute) {
		last := s.Last(at)
		switch n := len(due); {
		case last.Before(begin) || n > 0 && last.Equal(due[n-1]):
		case n > 0 && last.Before(due[n-1]):
			t.Fatalf("%s in %s: at %v the last time is %v, which is before %v", expression, name, at, last, due[n-1])
		default:
			due = append(due, last.In(zone))
		}
	}
	return due
}

func TestParseRefuses(t *testing.T) {
	for _, expression := range []string{"", "hourly", "* * * *", "61 * * * *", "* * * * * *", "0 0 30 2 *", "*/5 * * * * * 2030", "@reboot", "0 25 * * *"} {
		if s, err := Parse(expression, time.UTC); err == nil {
			t.Errorf("%q is taken for %+v", expression, s)
		}
	}
}
