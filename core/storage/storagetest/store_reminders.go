package storagetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

func reminderChecks() []storeCheck {
	return []storeCheck{
		{"a reminder is returned unchanged, once, to its person and room", reminderWhole},
		{"reminders are limited for each person and room", remindersFew},
		{"reminders are due at their time", remindersDue},
		{"a reminder is moved from a time once", reminderMoved},
		{"of concurrent moves of a reminder one succeeds", reminderMovedByOne},
		{"reminders survive clearing and are deleted with their room", reminderCleared},
	}
}

// reminder is one of ada's in room, due at the beginning of the unix epoch's nth hour.
func reminder(id string, room chat.RoomID, n int) chat.Reminder {
	due := time.Unix(int64(n)*3600, 5).UTC()
	return chat.Reminder{ID: id, Room: room, Person: "ada", Name: "Ada", Text: "tea " + id, Due: due, First: due, Zone: "UTC"}
}

func (s store) adds(r ...chat.Reminder) {
	s.t.Helper()
	for _, r := range r {
		s.must(s.AddReminder(s.t.Context(), r, chat.ReminderRule{}))
	}
}

func (s store) reminders(room chat.RoomID, person chat.EntityID) []chat.Reminder {
	s.t.Helper()
	all := require.Value(s.Reminders(s.t.Context(), room, person))(s.t)
	return all
}

func reminderWhole(t *testing.T, s store) {
	s.fails(s.AddReminder(t.Context(), reminder("a", "room", 1), chat.ReminderRule{}), chat.ErrNotFound)
	s.opened("room", 1)
	s.opened("other", 2)
	whole := chat.Reminder{
		ID: "a", Room: "room", Person: "ada", Name: "Ada 🙂", Text: "drink\n'tea'", Due: time.Unix(7200, 1).UTC(), First: time.Unix(3600, 1).UTC(),
		Repeat: "hourly", Zone: "Europe/Berlin", Asked: "room/1",
	}
	bobs := reminder("b", "room", 1)
	bobs.Person = "bob"
	s.adds(whole, bobs, reminder("c", "other", 1))
	again := reminder("a", "room", 9)
	s.adds(again) // the same id: it is there
	s.same("Ada's", s.reminders("room", "ada"), []chat.Reminder{whole})
	s.same("all in the room", s.reminders("room", ""), []chat.Reminder{bobs, whole})
	s.same("Bob's elsewhere", s.reminders("other", "bob"), []chat.Reminder{})
}

func remindersFew(t *testing.T, s store) {
	s.opened("room", 1)
	s.opened("other", 2)
	rule := chat.ReminderRule{Person: 2, Room: 3}
	s.must(s.AddReminder(t.Context(), reminder("a", "room", 1), rule))
	s.must(s.AddReminder(t.Context(), reminder("b", "other", 1), rule))
	s.fails(s.AddReminder(t.Context(), reminder("c", "room", 1), rule), chat.ErrTooMany)
	s.must(s.AddReminder(t.Context(), reminder("a", "room", 1), rule))
	for n := range 3 {
		r := reminder(fmt.Sprint(n), "room", 1)
		r.Person = chat.EntityID(r.ID)
		if err := s.AddReminder(t.Context(), r, rule); n < 2 {
			s.must(err)
		} else {
			s.fails(err, chat.ErrTooMany)
		}
	}
}

func remindersDue(t *testing.T, s store) {
	s.opened("room", 1)
	all := []chat.Reminder{reminder("c", "room", 3), reminder("a", "room", 1), reminder("b", "room", 2)}
	s.adds(all...)
	for _, c := range []struct {
		at    time.Time
		limit int
		want  []chat.Reminder
	}{
		{all[1].Due.Add(-1), 9, nil},
		{all[1].Due, 9, all[1:2]},
		{all[0].Due.Add(-1), 9, all[1:]},
		{all[0].Due, 2, all[1:]},
		{all[0].Due, 0, nil},
	} {
		got := require.Value(s.DueReminders(t.Context(), c.at, c.limit))(s.t)
		s.same(fmt.Sprint("due at ", c.at), got, c.want)
	}
}

func reminderMoved(t *testing.T, s store) {
	s.opened("room", 1)
	r := reminder("a", "room", 1)
	s.adds(r)
	next := r.Due.Add(24 * time.Hour)
	s.must(s.MoveReminder(t.Context(), "a", r.Due, next))
	s.fails(s.MoveReminder(t.Context(), "a", r.Due, next), answer.ErrLost)
	s.fails(s.MoveReminder(t.Context(), "a", r.Due, time.Time{}), answer.ErrLost)
	s.fails(s.MoveReminder(t.Context(), "b", r.Due, time.Time{}), answer.ErrLost)
	r.Due = next
	s.same("the reminder", s.reminders("room", "ada"), []chat.Reminder{r})
	s.must(s.MoveReminder(t.Context(), "a", next, time.Time{}))
	s.fails(s.MoveReminder(t.Context(), "a", next, time.Time{}), answer.ErrLost)
	s.same("the reminders", s.reminders("room", "ada"), []chat.Reminder{})
}

func reminderMovedByOne(t *testing.T, s store) {
	s.opened("room", 1)
	r := reminder("a", "room", 1)
	s.adds(r)
	var all sync.WaitGroup
	errs := make(chan error, 8)
	for n := range cap(errs) {
		all.Go(func() {
			errs <- s.MoveReminder(context.WithoutCancel(t.Context()), "a", r.Due, r.Due.Add(time.Duration(n+1)*time.Hour))
		})
	}
	all.Wait()
	moved := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			moved++
		} else {
			s.fails(err, answer.ErrLost)
		}
	}
	s.same("the successful moves", moved, 1)
}

func reminderCleared(t *testing.T, s store) {
	s.opened("room", 1)
	s.opened("other", 2)
	s.adds(reminder("a", "room", 1), reminder("b", "other", 1))
	require.Value(s.Clear(t.Context(), "room"))(s.t)
	s.same("after a clear", len(s.reminders("room", "")), 1)
	require.Value(s.ClearEntirely(t.Context(), "room", ""))(s.t)
	s.same("of a room that is gone", len(s.reminders("room", "")), 0)
	s.same("elsewhere", len(s.reminders("other", "")), 1)
}
