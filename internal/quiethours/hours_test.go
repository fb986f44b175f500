package quiethours

import (
	"parley/internal/require"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	berlin := require.Value(time.LoadLocation("Europe/Berlin"))(t)
	at := func(text string) time.Time {
		when := require.Value(time.ParseInLocation("2006-01-02 15:04:05", text, berlin))(t)
		return when
	}
	for _, c := range []struct{ hours, at, want string }{
		{"", "2026-11-23 03:00:00", "2026-11-23 03:00:00"},
		{"22:00-07:00", "2026-11-23 21:59:59", "2026-11-23 21:59:59"},
		{"22:00-07:00", "2026-11-23 22:00:00", "2026-11-24 07:00:00"},
		{"22:00-07:00", "2026-12-31 23:30:00", "2027-01-01 07:00:00"},
		{"22:00-07:00", "2026-11-24 06:59:59", "2026-11-24 07:00:00"},
		{"22:00-07:00", "2026-11-24 07:00:00", "2026-11-24 07:00:00"},
		{" 12:30 - 14:00 ", "2026-11-24 12:30:00", "2026-11-24 14:00:00"},
		{"12:30-14:00", "2026-11-24 12:29:59", "2026-11-24 12:29:59"},
		{"12:30-14:00", "2026-11-24 14:00:00", "2026-11-24 14:00:00"},
		{"22:00-07:00", "2026-10-24 23:00:00", "2026-10-25 07:00:00"}, // the clock is put back in this night
	} {
		h := require.Value(Parse(c.hours, berlin))(t)
		if got := h.Until(at(c.at).UTC()); !got.Equal(at(c.want)) {
			t.Errorf("%s at %s: until %v; want %s", c.hours, c.at, got.In(berlin), c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, wrong := range []string{"22", "22:00", "22:00-", "-7:00", "22:00-25:00", "07:00-07:00", "22-7", "22:00-07:00-08:00"} {
		if _, err := Parse(wrong, time.UTC); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		hours, at string
		want      bool
	}{
		{"Mon-Fri 09:00-17:00", "2026-11-23 09:00", true}, // a Monday
		{"Mon-Fri 09:00-17:00", "2026-11-23 08:59", false},
		{"Mon-Fri 09:00-17:00", "2026-11-27 16:59", true},
		{"Mon-Fri 09:00-17:00", "2026-11-27 17:00", false},
		{"Mon-Fri 09:00-17:00", "2026-11-28 12:00", false},
		{"Sat 10:00-14:00", "2026-11-28 12:00", true},
		{"Sat 10:00-14:00", "2026-11-29 12:00", false},
		{"Sat-Mon 10:00-14:00", "2026-11-29 12:00", true},
		{"Sat-Mon 10:00-14:00", "2026-11-24 12:00", false},
		{"Fri 22:00-02:00", "2026-11-28 01:59", true},
		{"Fri 22:00-02:00", "2026-11-27 01:59", false},
		{"Sat 22:00-02:00", "2026-11-29 01:00", true},
	} {
		at := require.Value(time.Parse("2006-01-02 15:04", c.at))(t)
		if got, err := Within(c.hours, at); got != c.want || err != nil {
			t.Errorf("%s in %q: %v, %v", c.at, c.hours, got, err)
		}
	}
	for _, wrong := range []string{"", "Mon", "09:00-17:00", "Mo-Fr 09:00-17:00", "Mon-Fri 09:00-09:00", "Mon-Fri 9-17", "Mon- 9-17"} {
		if _, err := Within(wrong, time.Now()); err == nil {
			t.Errorf("%q are hours", wrong)
		}
	}
}
