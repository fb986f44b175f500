package remind

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
)

// command is /reminders, and "/reminders cancel N". The numbers are those of the author's own list in this room, so
// nothing of others can be reached.
func (p *plugin) command(ctx context.Context, c action.CommandCall) (string, error) {
	words := strings.Fields(strings.ToLower(c.Arguments))
	if len(words) == 0 {
		return p.list(ctx, c.Room.ID, c.Message.Author)
	}
	n, err := 0, error(nil)
	if len(words) == 2 && words[0] == "cancel" {
		n, err = strconv.Atoi(words[1])
	}
	if n < 1 || err != nil {
		return lang.Say(ctx, "remind.how"), nil
	}
	done, err := p.cancel(ctx, c.Room.ID, c.Message.Author, n)
	if errors.Is(err, errNoNumber) {
		return lang.Say(ctx, "remind.no_number"), nil
	}
	return done, err
}

var errNoNumber = errors.New("there is no reminder with this number; get the list first")

// list lists the reminders of a person in a room.
func (p *plugin) list(ctx context.Context, room chat.RoomID, person chat.EntityID) (string, error) {
	all, err := p.Store.Reminders(ctx, room, person)
	if err != nil {
		return "", fmt.Errorf("read the reminders: %w", err)
	}
	var lines []string
	for i, r := range all {
		line := fmt.Sprintf("%d. %s: %s", i+1, stamp(p.localTime(r, r.Due)), r.Text)
		if r.Repeat != "" {
			line += " (" + lang.Say(ctx, "remind.repeat."+r.Repeat) + ")"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return lang.Say(ctx, "remind.none"), nil
	}
	return strings.Join(lines, "\n"), nil
}

// cancel cancels the reminder with a number in the list. It is compared with its time in the store, so a reminder that
// was sent and moved meanwhile is not cancelled by mistake.
func (p *plugin) cancel(ctx context.Context, room chat.RoomID, person chat.EntityID, number int) (string, error) {
	all, err := p.Store.Reminders(ctx, room, person)
	if err != nil {
		return "", fmt.Errorf("read the reminders: %w", err)
	}
	if number > len(all) {
		return "", errNoNumber
	}
	r := all[number-1]
	err = p.Store.MoveReminder(ctx, r.ID, r.Due, time.Time{})
	switch {
	case errors.Is(err, answer.ErrLost): // it was just sent
		return "", errNoNumber
	case err != nil:
		return "", fmt.Errorf("cancel the reminder: %w", err)
	}
	return lang.Say(ctx, "remind.cancelled", "reminder", r.Text), nil
}
