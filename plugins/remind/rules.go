package remind

import (
	"errors"
	"fmt"
	"time"
)

// rules are how reminders can be repeated, and roughly how often that is.
var rules = map[string]time.Duration{
	"hourly": time.Hour, "daily": 24 * time.Hour, "weekdays": 24 * time.Hour, "weekly": 7 * 24 * time.Hour, "monthly": 31 * 24 * time.Hour, "yearly": 366 * 24 * time.Hour,
}

// next returns the first repetition after a time; zero if there is none. It keeps the time of day where the clock is
// changed, and a day that a month does not have is its last. Repetitions are counted from the first one: a reminder on
// the 31st stays on the 31st after February.
func next(first time.Time, rule string, zone *time.Location, after time.Time) time.Time {
	every, ok := rules[rule]
	if !ok {
		return time.Time{}
	}
	// The estimate begins a little early, because the durations of the rules are rough.
	for n := max(0, int(after.Sub(first)/every)-2); ; n++ {
		t := nth(first.In(zone), rule, n)
		weekend := t.Weekday() == time.Saturday || t.Weekday() == time.Sunday
		if t.After(after) && !(rule == "weekdays" && weekend) {
			return t
		}
	}
}

// nth returns the nth repetition of t by a rule.
func nth(t time.Time, rule string, n int) time.Time {
	at := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, t.Location())
	}
	y, m, d := t.Date()
	months := map[string]int{"monthly": 1, "yearly": 12}[rule]
	switch {
	case rule == "hourly":
		return t.Add(time.Duration(n) * time.Hour)
	case rule == "weekly":
		return at(y, m, d+7*n)
	case months == 0:
		return at(y, m, d+n)
	}
	last := at(y, m+time.Month(n*months)+1, 0).Day()
	return at(y, m+time.Month(n*months), min(d, last))
}

// forms are how a model can write a time.
var forms = []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"}

// when returns the time that a model has written: an absolute one, in zone unless it has one of its own, or minutes
// from now. Exactly one of both must be set.
func when(at string, inMinutes int, zone *time.Location, now time.Time) (time.Time, error) {
	switch {
	case (at == "") == (inMinutes == 0):
		return time.Time{}, errors.New("set either at or in_minutes")
	case at == "":
		return now.Add(time.Duration(inMinutes) * time.Minute).In(zone).Truncate(time.Second), nil
	}
	if t, err := time.Parse(time.RFC3339, at); err == nil {
		return t.In(zone), nil
	}
	for _, form := range forms {
		if t, err := time.ParseInLocation(form, at, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2026-12-24T09:00", at)
}

// stamp formats t for users and models.
func stamp(t time.Time) string { return t.Format("Mon 2 Jan 2006, 15:04 MST") }
