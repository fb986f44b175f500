package cron

import (
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
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
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

// Over a whole year, a time of day comes once each day, whatever the clock does.
func TestOnceADay(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, expression := range []string{"30 2 * * *", "0 3 * * *", "0 0 * * *"} {
		s, err := Parse(expression, zone)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int64]bool{}
		end := time.Date(2027, 1, 1, 0, 0, 0, 0, zone)
		for at := time.Date(2026, 1, 1, 4, 0, 0, 0, zone); at.Before(end); at = at.Add(2 * time.Hour) {
			seen[s.Last(at).Unix()] = true
		}
		if len(seen) != 365 {
			t.Errorf("%s came %d times in a year", expression, len(seen))
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, expression := range []string{"", "hourly", "* * * *", "61 * * * *", "* * * * * *", "0 0 30 2 *", "*/5 * * * * * 2030", "@reboot", "0 25 * * *"} {
		if s, err := Parse(expression, time.UTC); err == nil {
			t.Errorf("%q is taken for %+v", expression, s)
		}
	}
}
