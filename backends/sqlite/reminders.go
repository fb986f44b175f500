package sqlite

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

const selectReminders = `SELECT ` + record.ReminderColumns + ` FROM reminders `

// AddReminder implements [storage.Reminders].
func (s *reminders) AddReminder(ctx context.Context, r chat.Reminder, rule chat.ReminderRule) error {
	err := record.CheckReminder(r)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error { return addReminder(ctx, tx, r, rule) })
	}
	return wrap(err, "saving a reminder in %q", r.Room)
}

// addReminder checks the limits and stores r in one transaction. An id that is stored already changes nothing: the call
// of a tool can be repeated after a crash.
func addReminder(ctx context.Context, tx *conn, r chat.Reminder, rule chat.ReminderRule) error {
	var known bool
	var ofPerson, inRoom int
	err := tx.QueryRowContext(ctx, `
		SELECT EXISTS (SELECT 1 FROM reminders WHERE id = ?1), (SELECT count(*) FROM reminders WHERE person = ?3),
			(SELECT count(*) FROM reminders WHERE room = ?2) FROM rooms WHERE id = ?2`, r.ID, r.Room, r.Person).Scan(&known, &ofPerson, &inRoom)
	switch {
	case err != nil || known:
		return record.Found(err)
	case rule.Person > 0 && ofPerson >= rule.Person, rule.Room > 0 && inRoom >= rule.Room:
		return chat.ErrTooMany
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO reminders (`+record.ReminderColumns+`) VALUES (?, ?, ?, ?, ?)`,
		r.ID, r.Room, r.Person, record.Nanos(r.Due), record.Reminder(r))
	return err
}

// Reminders implements [storage.Reminders].
func (s *reminders) Reminders(ctx context.Context, room chat.RoomID, person chat.EntityID) ([]chat.Reminder, error) {
	all, err := s.reminders(ctx, `WHERE room = ?1 AND (?2 = '' OR person = ?2) ORDER BY due, seq`, room, person)
	return all, wrap(err, "reading the reminders in %q", room)
}

// DueReminders implements [storage.Reminders].
func (s *reminders) DueReminders(ctx context.Context, at time.Time, limit int) ([]chat.Reminder, error) {
	all, err := s.reminders(ctx, `WHERE due <= ? ORDER BY due, seq LIMIT ?`, record.Nanos(at), max(limit, 0))
	return all, wrap(err, "reading the reminders that are due")
}

func (s *reminders) reminders(ctx context.Context, where string, args ...any) (all []chat.Reminder, err error) {
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, selectReminders+where, args...)
		if err == nil {
			all, err = collect(rows, record.ScanReminder)
		}
		return err
	})
	return all, err
}

// MoveReminder implements [storage.Reminders]. The time it had is compared in the statement, so a reminder that is
// found due twice moves once, and is sent once.
func (s *reminders) MoveReminder(ctx context.Context, id string, due, next time.Time) error {
	err := s.forgetting(ctx, func(ctx context.Context, tx *conn) error {
		change, args := `UPDATE reminders SET due = ? WHERE id = ? AND due = ?`, []any{record.Nanos(next), id, record.Nanos(due)}
		if next.IsZero() {
			change, args = `DELETE FROM reminders WHERE id = ? AND due = ?`, args[1:]
		}
		return some(tx.ExecContext(ctx, change, args...))
	})
	return wrap(err, "moving the reminder %q", id)
}
