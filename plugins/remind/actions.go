package remind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
)

// remindMe is REMIND_ME.
type remindMe struct{ *plugin }

// Spec implements [action.Action].
func (a remindMe) Spec() action.Spec {
	return action.Spec{
		Name: "REMIND_ME", Similes: []string{"SET_REMINDER", "CREATE_REMINDER", "REMIND"},
		Description: "Remind the user of something in this room, at a later time. Only when the user asks for it.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"text":{"type":"string","minLength":1,"maxLength":500,"description":"what to remind the user of, in a few words, addressed to the user"},` +
			`"at":{"type":"string","description":"the time, such as 2026-12-24T09:00; or set in_minutes"},` +
			`"in_minutes":{"type":"integer","minimum":1,"description":"the time from now, in minutes; or set at"},` +
			`"repeat":{"type":"string","enum":["hourly","daily","weekdays","weekly","monthly","yearly"],"description":"how often to repeat it; once if omitted"},` +
			`"time_zone":{"type":"string","description":"the time zone of the time if the user's is known, such as Europe/Berlin; ` + a.Zone.String() + ` if omitted"}},` +
			`"required":["text"],"additionalProperties":false}`),
		Effect: action.Writes,
	}
}

// Available implements [action.Conditional]: no person asks in a feed, or by a schedule.
func (remindMe) Available(s action.TurnContext) bool { return asked(s) }

// asked reports whether a person asks.
func asked(s action.TurnContext) bool {
	return s.Room.Kind != chat.Feed && !s.Message.Author.Automatic()
}

// parameters are those of REMIND_ME, as the model writes them.
type parameters struct {
	Text, At, Repeat string
	InMinutes        int    `json:"in_minutes"`
	TimeZone         string `json:"time_zone"`
}

// Act implements [action.Action].
func (a remindMe) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	var p parameters
	if err := c.Read(&p); err != nil {
		return action.Result{}, err
	}
	if c.Turn.Several() {
		return action.Result{}, errors.New("several users asked at once; the person has to ask in a message of their own")
	}
	r, err := a.reminder(c, p)
	if err != nil {
		return action.Result{}, err
	}
	switch err := a.Store.AddReminder(ctx, r, chat.ReminderRule{Person: perPerson, Room: perRoom}); {
	case errors.Is(err, chat.ErrTooMany):
		return action.Result{}, fmt.Errorf("there are too many reminders: at most %d for a person and %d in a room; cancel one first", perPerson, perRoom)
	case err != nil:
		return action.Result{}, fmt.Errorf("save the reminder: %w", err)
	}
	said := "The reminder is set for " + stamp(r.Due)
	if r.Repeat != "" {
		said += ", " + r.Repeat
	}
	if sent := a.Quiet.Until(r.Due); !sent.Equal(r.Due) {
		said += ". That is in the quiet hours, so it will be sent at " + sent.In(r.Due.Location()).Format("15:04")
	}
	return action.Result{Text: said + ".", Short: stamp(r.Due)}, nil
}

// reminder returns the requested reminder. Its id is that of the call, so a repeated call stores it once. The
// time that a model has computed is checked: models miscount days.
func (a remindMe) reminder(c *action.Call, p parameters) (chat.Reminder, error) {
	zone, err := a.zoneOf(p.TimeZone)
	if err != nil {
		return chat.Reminder{}, err
	}
	now := time.Now()
	due, err := when(strings.TrimSpace(p.At), p.InMinutes, zone, now)
	_, known := rules[p.Repeat]
	words := text.OneLine(p.Text, longest)
	switch {
	case err != nil:
		return chat.Reminder{}, err
	case !known && p.Repeat != "":
		return chat.Reminder{}, errors.New("repeat must be hourly, daily, weekdays, weekly, monthly or yearly")
	case words == "":
		return chat.Reminder{}, errors.New("there is no text to remind of")
	case !due.After(now):
		return chat.Reminder{}, fmt.Errorf("%s is over; it is %s", stamp(due), stamp(now.In(zone)))
	case due.Sub(now) > farthest:
		return chat.Reminder{}, errors.New("a reminder can be at most five years ahead")
	}
	// The first time may be on a weekend.
	if p.Repeat == "weekdays" {
		due = next(due, p.Repeat, zone, due.Add(-1))
	}
	return chat.Reminder{
		ID: string(c.Turn.Run) + "/" + c.ID, Room: c.Turn.Room.ID, Person: c.Turn.Message.Author, Name: text.Label(c.Turn.Message.Name), Text: words,
		Due: due, First: due, Repeat: p.Repeat, Zone: zone.String(), Asked: c.Turn.Message.ID,
	}, nil
}

// cancelReminder is CANCEL_REMINDER.
type cancelReminder struct{ *plugin }

// Spec implements [action.Action].
func (cancelReminder) Spec() action.Spec {
	return action.Spec{
		Name: "CANCEL_REMINDER", Similes: []string{"DELETE_REMINDER", "REMOVE_REMINDER", "LIST_REMINDERS"},
		Description: "List the user's reminders in this room, or cancel one. Only when the user asks for it.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"number":{"type":"integer","minimum":1,"description":"the reminder's number in the list; omit it to get the list"}},"required":[],"additionalProperties":false}`),
		Effect: action.Writes,
	}
}

// Available implements [action.Conditional].
func (cancelReminder) Available(s action.TurnContext) bool { return asked(s) }

// Act implements [action.Action].
func (a cancelReminder) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	var p struct{ Number int }
	if err := c.Read(&p); err != nil {
		return action.Result{}, err
	}
	if c.Turn.Several() {
		return action.Result{}, errors.New("several users asked at once; the person has to ask in a message of their own")
	}
	if p.Number == 0 {
		list, err := a.list(ctx, c.Turn.Room.ID, c.Turn.Message.Author)
		return action.Result{Text: list}, err
	}
	done, err := a.cancel(ctx, c.Turn.Room.ID, c.Turn.Message.Author, p.Number)
	return action.Result{Text: done, Short: done}, err
}
