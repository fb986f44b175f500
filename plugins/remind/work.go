package remind

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/rest"
)

const (
	lookEvery = 5 * time.Second
	atOnce    = 20              // reminders sent in one look
	lateBy    = 5 * time.Minute // from then on a reminder includes when it was due
)

// work sends reminders when they are due, until ctx is done.
func (p *plugin) work(ctx context.Context) {
	for range rest.Every(ctx, lookEvery) {
		if err := p.sendDue(ctx); err != nil && ctx.Err() == nil {
			p.Log.Error("reminders that are due can't be sent; it will be retried", "err", err)
		}
	}
}

// sendDue sends the due reminders. One that fails does not hold up the others. In quiet hours it does nothing, so all are
// sent when they end.
func (p *plugin) sendDue(ctx context.Context) error {
	now := time.Now()
	if p.Quiet.Until(now).After(now) {
		return nil
	}
	due, err := p.Store.DueReminders(ctx, now, atOnce)
	if err != nil {
		return fmt.Errorf("find them: %w", err)
	}
	for _, r := range due {
		err = errors.Join(err, p.remind(ctx, r, now))
	}
	return err
}

// remind sends r, once, and moves it to its next time. It is sent before it is moved: a process that dies in between
// leaves it to be sent again under the same key, which sends nothing. Repetitions that were missed meanwhile are left
// out.
func (p *plugin) remind(ctx context.Context, r chat.Reminder, now time.Time) error {
	attention, err := p.Store.Attention(ctx, r.Room)
	if err != nil {
		return err
	}
	if attention != chat.Muted { // due reminders of a muted room are skipped
		until, err := p.send(ctx, r, now)
		switch {
		case err != nil:
			return err
		case !until.IsZero():
			return p.move(ctx, r, until)
		}
	}
	return p.move(ctx, r, next(r.First, r.Repeat, p.localTime(r, now).Location(), now))
}

// send sends r. A time other than zero is that of the next try: a limit is reached. If the room is gone, it counts as
// sent, because no later try can succeed.
func (p *plugin) send(ctx context.Context, r chat.Reminder, now time.Time) (later time.Time, err error) {
	if p.Count != nil {
		until, err := p.Count(ctx, r)
		if err != nil || !until.IsZero() {
			return until, err
		}
	}
	room, err := p.Store.Room(ctx, r.Room)
	if err != nil {
		return time.Time{}, chat.Unless(err, chat.ErrNotFound)
	}
	n := chat.Notice{To: chat.Address{Room: r.Room}, Text: p.reminderText(r, room, now), Key: fmt.Sprintf("reminder/%s/%d", r.ID, r.Due.Unix())}
	if !room.Kind.Private() {
		n.To.ReplyTo = r.Asked // which tells the person on platforms that show replies
	}
	_, err = p.say(ctx, n)
	if errors.Is(err, chat.ErrUnreached) || errors.Is(err, chat.ErrNotFound) {
		p.Log.Warn("a reminder can't be sent; its room is gone", "room", r.Room)
		return time.Time{}, nil
	}
	return time.Time{}, err
}

// reminderText returns the text of the reminder for the person.
func (p *plugin) reminderText(r chat.Reminder, room chat.Room, now time.Time) string {
	said := "⏰ " + r.Text
	if !room.Kind.Private() && r.Name != "" {
		said = "⏰ " + r.Name + ": " + r.Text
	}
	if now.Sub(r.Due) >= lateBy {
		said += "\n(This was due on " + stamp(p.localTime(r, r.Due)) + ".)"
	}
	return said
}

// move sets the time of r, or removes it if to is zero.
func (p *plugin) move(ctx context.Context, r chat.Reminder, to time.Time) error {
	if err := p.Store.MoveReminder(ctx, r.ID, r.Due, to); err != nil && !errors.Is(err, answer.ErrLost) { // lost: another replica did it, or it was cancelled
		return fmt.Errorf("move a reminder: %w", err)
	}
	return nil
}
