package storage

import (
	"context"
	"time"

	"parley/core/chat"
)

// Reminders keeps what people asked to be reminded of. A room that is cleared keeps its reminders; with one that is cleared entirely
// they go.
type Reminders interface {
	// AddReminder stores r, once by its id. [chat.ErrTooMany] if its person or its room has as many as rule allows;
	// [chat.ErrNotFound] if there is no such room.
	AddReminder(ctx context.Context, r chat.Reminder, rule chat.ReminderRule) error
	// Reminders returns those of a person in a room, or of everyone there if person is empty, the next ones first.
	Reminders(ctx context.Context, room chat.RoomID, person chat.EntityID) ([]chat.Reminder, error)
	// DueReminders returns at most limit reminders whose time is not after at, the oldest first.
	DueReminders(ctx context.Context, at time.Time, limit int) ([]chat.Reminder, error)
	// MoveReminder gives the reminder id, if its time is due, the time next, or removes it if that is zero. [answer.ErrLost] if it is
	// gone or has another time: of several who move it, one does.
	MoveReminder(ctx context.Context, id string, due, next time.Time) error
}
