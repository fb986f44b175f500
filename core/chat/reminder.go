package chat

import (
	"errors"
	"time"
)

// Reminder is a text that a person asked to be reminded of.
type Reminder struct {
	ID     string
	Room   RoomID
	Person EntityID // who asked for it
	Name   string   // the person's display name
	Text   string
	Due    time.Time // the next time
	First  time.Time // the first time, from which repetitions are counted
	Repeat string    // a rule of package remind; empty: once
	Zone   string    // the time zone of First, by its name
	Asked  MemoryID  // the message that asked for it
}

// ReminderRule bounds how many reminders are kept at a time; 0 is no limit.
type ReminderRule struct{ Person, Room int }

// ErrTooMany means that a bound on how much is stored is reached.
var ErrTooMany = errors.New("there are too many already")
