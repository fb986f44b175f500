// Package quiethours computes the hours without messages on the agent's own initiative, and those when people are there.
package quiethours

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Hours are the same hours of each day. The zero value is no hours.
type Hours struct {
	from, to clock
	zone     *time.Location
}

// clock is a time of day in minutes.
type clock int

// Parse reads hours such as "22:00-07:00", which can include midnight; empty is no hours. It fails for other forms, and
// for equal times.
func Parse(text string, zone *time.Location) (Hours, error) {
	if strings.TrimSpace(text) == "" {
		return Hours{}, nil
	}
	from, to, ok := strings.Cut(text, "-")
	h := Hours{zone: zone}
	var err error
	if h.from, err = parseClock(from); err != nil || !ok {
		return Hours{}, fmt.Errorf("%q are not hours such as 22:00-07:00", text)
	}
	if h.to, err = parseClock(to); err != nil || h.from == h.to {
		return Hours{}, fmt.Errorf("%q are not hours such as 22:00-07:00", text)
	}
	return h, nil
}

func parseClock(text string) (clock, error) {
	t, err := time.Parse("15:04", strings.TrimSpace(text))
	return clock(60*t.Hour() + t.Minute()), err
}

// Until returns when the quiet hours end that t is in, or t itself if it is in none.
func (h Hours) Until(t time.Time) time.Time {
	if h.from == h.to {
		return t
	}
	local := t.In(h.zone)
	now := clock(60*local.Hour() + local.Minute())
	tomorrow := 0
	switch {
	case h.from < h.to && (now < h.from || now >= h.to), h.from > h.to && now >= h.to && now < h.from:
		return t
	case h.from > h.to && now >= h.from:
		tomorrow = 1
	}
	end := time.Date(local.Year(), local.Month(), local.Day()+tomorrow, int(h.to)/60, int(h.to)%60, 0, 0, h.zone)
	if !end.After(t) { // the clock was put back meanwhile
		return t
	}
	return end
}

// days are the names of the days, from Sunday as in [time.Weekday].
var days = [...]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// Within reports whether t, in its own time zone, is in hours such as "Mon-Fri 09:00-17:00" or "Sat 10:00-14:00". Hours that include midnight
// belong to the day when they begin. It fails for other forms.
func Within(text string, t time.Time) (bool, error) {
	of, hours, _ := strings.Cut(strings.TrimSpace(text), " ")
	from, to, _ := strings.Cut(of, "-")
	first, last := slices.Index(days[:], from), slices.Index(days[:], cmp.Or(to, from))
	h, err := Parse(hours, t.Location())
	if err != nil || first < 0 || last < 0 || h.from == h.to {
		return false, fmt.Errorf("%q are not hours such as Mon-Fri 09:00-17:00", text)
	}
	day := int(t.Weekday())
	if h.from > h.to && clock(60*t.Hour()+t.Minute()) < h.to {
		day += 6
	}
	return (day+7-first)%7 <= (last+7-first)%7 && h.Until(t).After(t), nil
}
