package quiethours

import (
	"parley/internal/require"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := func(text string) time.Time {
		when, err := time.ParseInLocation("2006-01-02 15:04:05", text, berlin)
		require.NoError(t, err)
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
		h, err := Parse(c.hours, berlin)
		require.NoError(t, err)
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
