package record

import (
	"time"

	"parley/core/chat"
)

// ReminderColumns are the columns that [ScanReminder] reads.
const ReminderColumns = `id, room, person, due, content`

// reminder is the stored form of the fields of a [chat.Reminder] that no query compares.
type reminder struct {
	Name   string        `json:"name,omitempty"`
	Text   string        `json:"text"`
	First  time.Time     `json:"first"`
	Repeat string        `json:"repeat,omitempty"`
	Zone   string        `json:"zone,omitempty"`
	Asked  chat.MemoryID `json:"asked,omitempty"`
}

// Reminder returns the stored form of the fields of r that have no column of their own.
func Reminder(r chat.Reminder) string {
	return JSON(reminder{r.Name, r.Text, r.First.UTC(), r.Repeat, r.Zone, r.Asked})
}

// ScanReminder reads [ReminderColumns].
func ScanReminder(from Row) (r chat.Reminder, err error) {
	var c reminder
	err = from.Scan(&r.ID, &r.Room, &r.Person, TimeInto(&r.Due), JSONInto(&c))
	r.Name, r.Text, r.First, r.Repeat, r.Zone, r.Asked = c.Name, c.Text, c.First, c.Repeat, c.Zone, c.Asked
	return r, Found(err)
}

// CheckReminder returns an error if r could not be read back as it is.
func CheckReminder(r chat.Reminder) error {
	return CheckText(r.ID, string(r.Room), string(r.Person), r.Name, r.Text, r.Repeat, r.Zone, string(r.Asked))
}
