package sqlstore

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

// change returns a transaction with the lock of all writes: the limits count rows of other users and rooms.
func (s *reminders) change() Change { return change(s.Shared, "reminders", "") }

const selectReminders = `SELECT ` + record.ReminderColumns + ` FROM reminders `

// AddReminder implements [storage.Reminders].
func (s *reminders) AddReminder(ctx context.Context, r chat.Reminder, rule chat.ReminderRule) error {
	err := record.CheckReminder(r)
	if err == nil {
		err = s.Write(ctx, s.change(), func(ctx context.Context, tx Conn) error { return addReminder(ctx, tx, r, rule) })
	}
	return s.wrap(err, "saving a reminder in %q", r.Room)
}

// addReminder checks the limits and stores r. An id that is stored already changes nothing: the call of a tool can be
// repeated after a crash. Due times are stored by the clock of the process, not of the database: they were given as
// times of day.
func addReminder(ctx context.Context, tx Conn, r chat.Reminder, rule chat.ReminderRule) error {
	var known bool
	var ofPerson, inRoom int
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM reminders WHERE id = $1), (SELECT count(*) FROM reminders WHERE person = $3),
			(SELECT count(*) FROM reminders WHERE room = $2) FROM rooms WHERE id = $2`, r.ID, r.Room, r.Person).Scan(&known, &ofPerson, &inRoom)
	switch {
	case err != nil || known:
		return record.Found(err)
	case rule.Person > 0 && ofPerson >= rule.Person, rule.Room > 0 && inRoom >= rule.Room:
		return chat.ErrTooMany
	}
	_, err = tx.Exec(ctx, `INSERT INTO reminders (`+record.ReminderColumns+`) VALUES ($1, $2, $3, $4, $5)`,
		r.ID, r.Room, r.Person, record.Nanos(r.Due), record.Reminder(r))
	return err
}

// Reminders implements [storage.Reminders].
func (s *reminders) Reminders(ctx context.Context, room chat.RoomID, person chat.EntityID) ([]chat.Reminder, error) {
	all, err := list(ctx, s.Shared, record.ScanReminder, selectReminders+`WHERE room = $1 AND ($2 = '' OR person = $2) ORDER BY due, seq`, room, person)
	return all, s.wrap(err, "reading the reminders in %q", room)
}

// DueReminders implements [storage.Reminders].
func (s *reminders) DueReminders(ctx context.Context, at time.Time, limit int) ([]chat.Reminder, error) {
	all, err := list(ctx, s.Shared, record.ScanReminder, selectReminders+`WHERE due <= $1 ORDER BY due, seq LIMIT $2`, record.Nanos(at), max(limit, 0))
	return all, s.wrap(err, "reading the reminders that are due")
}

// MoveReminder implements [storage.Reminders]. The time it had is compared in the statement, so a reminder that two
// replicas find due moves once, and is sent once.
func (s *reminders) MoveReminder(ctx context.Context, id string, due, next time.Time) error {
	err := s.Write(ctx, s.change().deleting(), func(ctx context.Context, tx Conn) error {
		change, args := `UPDATE reminders SET due = $3 WHERE id = $1 AND due = $2`, []any{id, record.Nanos(due), record.Nanos(next)}
		if next.IsZero() {
			change, args = `DELETE FROM reminders WHERE id = $1 AND due = $2`, args[:2]
		}
		return some(tx.Exec(ctx, change, args...))
	})
	return s.wrap(err, "moving the reminder %q", id)
}
