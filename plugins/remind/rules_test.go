package remind

import (
	"parley/internal/require"
	"testing"
	"time"
)

const form = "2006-01-02 15:04"

func in(t *testing.T, zone, at string) time.Time {
	t.Helper()
	z := require.Value(time.LoadLocation(zone))(t)
	when := require.Value(time.ParseInLocation(form, at, z))(t)
	return when
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ rule, first, after, want string }{
		{"hourly", "2026-11-23 09:10", "2026-11-23 09:10", "2026-11-23 10:10"},
		{"hourly", "2026-11-23 09:10", "2026-12-23 17:09", "2026-12-23 17:10"},
		{"daily", "2026-11-23 09:00", "2026-11-23 09:00", "2026-11-24 09:00"},
		{"daily", "2026-10-23 09:00", "2026-10-24 09:00", "2026-10-25 09:00"}, // the clock is put back in between
		{"daily", "2026-03-27 09:00", "2026-03-28 09:00", "2026-03-29 09:00"}, // and forward
		{"daily", "2026-01-01 09:00", "2036-01-01 08:59", "2036-01-01 09:00"},
		{"weekdays", "2026-11-27 09:00", "2026-11-27 09:00", "2026-11-30 09:00"},
		{"weekly", "2026-11-23 09:00", "2026-12-20 09:00", "2026-12-21 09:00"},
		{"monthly", "2026-01-31 09:00", "2026-01-31 09:00", "2026-02-28 09:00"},
		{"monthly", "2026-01-31 09:00", "2026-02-28 09:00", "2026-03-31 09:00"},
		{"monthly", "2026-11-30 09:00", "2026-12-30 09:00", "2027-01-30 09:00"},
		{"yearly", "2028-02-29 09:00", "2028-02-29 09:00", "2029-02-28 09:00"},
		{"yearly", "2028-02-29 09:00", "2031-12-31 09:00", "2032-02-29 09:00"},
	} {
		first := in(t, "Europe/Berlin", c.first)
		got := next(first.UTC(), c.rule, first.Location(), in(t, "Europe/Berlin", c.after))
		if got.Format(form) != c.want {
			t.Errorf("%s from %s after %s is %v; want %s", c.rule, c.first, c.after, got, c.want)
		}
	}
	if got := next(time.Now(), "", time.UTC, time.Now()); !got.IsZero() {
		t.Errorf("once is repeated at %v", got)
	}
}

func TestWhen(t *testing.T) {
	now := in(t, "UTC", "2026-11-23 08:00")
	berlin := in(t, "Europe/Berlin", "2026-01-01 00:00").Location()
	for _, c := range []struct {
		at        string
		inMinutes int
		want      string // in Berlin; empty: an error
	}{
		{"2026-11-24T09:00", 0, "2026-11-24 09:00"},
		{"2026-11-24 09:00:00", 0, "2026-11-24 09:00"},
		{"2026-11-24T09:00:00Z", 0, "2026-11-24 10:00"},
		{"2026-11-24T09:00:00-05:00", 0, "2026-11-24 15:00"},
		{"", 90, "2026-11-23 10:30"},
		{"", 0, ""},
		{"2026-11-24T09:00", 5, ""},
		{"tomorrow", 0, ""},
		{"2026-13-24T09:00", 0, ""},
	} {
		got, err := when(c.at, c.inMinutes, berlin, now)
		if (err != nil) != (c.want == "") || err == nil && got.Format(form) != c.want {
			t.Errorf("%q and %d minutes: %v, %v; want %s", c.at, c.inMinutes, got, err, c.want)
		}
	}
}
