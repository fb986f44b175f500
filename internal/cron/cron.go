// Package cron finds the times of schedules such as "0 9 * * 1-5", in a time zone whose clock is put forward and back.
package cron

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// Schedule is a cron expression in a time zone. The zero value is not valid; see [Parse].
type Schedule struct {
	expression string
	zone       *time.Location
	everyHour  bool // it names no hours of the day, or all of them
}

// Parse parses an expression of five fields (minute, hour, day of the month, month, day of the week) or a short form
// such as @daily. It returns an error for one that is never due.
func Parse(expression string, zone *time.Location) (Schedule, error) {
	expression = strings.Join(strings.Fields(expression), " ")
	fields, err := gronx.Segments(expression)
	if err != nil || !gronx.IsValid(expression) || !strings.HasPrefix(expression, "@") && len(strings.Fields(expression)) != 5 {
		return Schedule{}, fmt.Errorf("%q is not a cron expression of five fields", expression)
	}
	s := Schedule{expression: expression, zone: zone, everyHour: slices.Contains([]string{"*", "*/1", "0-23"}, fields[2])}
	if fields[0] != "0" { // the library adds a field for seconds in front
		return Schedule{}, errors.New("schedules by the second are not supported")
	}
	if s.Last(time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Schedule{}, fmt.Errorf("%q is never due", expression)
	}
	return s, nil
}

// Last returns the newest time of the schedule that is not after t; zero if there is none.
//
// Where the clock is put back, a time of day that occurs twice counts at its first. Where it is put forward, one that
// is skipped counts as much later as the clock is moved. "0 */6 * * *" names times of day. Expressions for every hour,
// such as "*/15 * * * *", continue without a gap or a repetition.
func (s Schedule) Last(t time.Time) time.Time {
	local := t.In(s.zone)
	if s.everyHour {
		return s.lastOfEveryHour(local)
	}
	wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
	for ahead := wall.Add(shift); ; { // a time that the clock has skipped is after the one that it shows
		tick := s.before(ahead)
		if tick.IsZero() {
			return time.Time{}
		}
		if at := s.at(tick); !at.After(t) {
			return at
		}
		ahead = tick.Add(-time.Second)
	}
}

// lastOfEveryHour returns the newest moment, not after t, when the clock of t's zone shows a time of the schedule. It
// walks back from one change of the clock to the one before, since the clock shows other times beyond each.
func (s Schedule) lastOfEveryHour(t time.Time) time.Time {
	for {
		_, offset := t.Zone()
		tick := s.before(t.In(time.FixedZone("", offset)))
		changed, _ := t.ZoneBounds()
		if tick.IsZero() || !tick.Before(changed) {
			return tick
		}
		t = changed.Add(-time.Nanosecond)
	}
}

const (
	shift    = 3 * time.Hour  // more than any clock is moved at once
	farthest = 15 * time.Hour // more than any zone is away from UTC
)

// at returns when the clock of the zone shows what wall shows in UTC: the first time if it does so twice. If it never
// does, it returns a moment that is as much later as the clock is moved.
func (s Schedule) at(wall time.Time) time.Time {
	// The offsets before and after a change near wall; normally they are the same.
	_, early := wall.Add(-farthest).In(s.zone).Zone()
	_, late := wall.Add(farthest).In(s.zone).Zone()
	first := wall.Add(-time.Duration(early) * time.Second).In(s.zone)
	second := wall.Add(-time.Duration(late) * time.Second).In(s.zone)
	if !shows(first, wall) && shows(second, wall) {
		return second
	}
	return first
}

// shows reports whether the clock of t shows the same as that of wall.
func shows(t, wall time.Time) bool { return t.Format(time.DateTime) == wall.Format(time.DateTime) }

// before returns the newest time that is not after t, in the time zone of t, which must have a fixed offset.
func (s Schedule) before(t time.Time) time.Time {
	tick, err := gronx.PrevTickBefore(s.expression, t, true)
	if err != nil || tick.After(t) {
		return time.Time{}
	}
	return tick
}
