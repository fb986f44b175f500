package intake

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/core/chat"
	"parley/core/prompt"
	"parley/internal/lang"
)

// pressed carries out the command of a button below the answer of a turn: for exactly this turn, as the command in a message would. clean
// completes a message of the user. It fails with the error of the store or the tracker.
func (c *Commands) pressed(ctx context.Context, by chat.Choice, name chat.CommandName, turn chat.ResponseID, clean func(context.Context, chat.Message) (chat.Message, error)) (chat.Accepted, error) {
	room, err := c.Store.Room(ctx, by.Room)
	if err != nil {
		return chat.Accepted{Refused: lang.Say(ctx, "button.ended")}, chat.Unless(err, chat.ErrNotFound)
	}
	run, refused, err := c.underButton(ctx, room, by, name, turn)
	switch {
	case err != nil:
		return chat.Accepted{}, fmt.Errorf("press %s: %w", name, err)
	case refused != "":
		return chat.Accepted{Refused: refused}, nil
	case name == chat.Stop:
		return chat.Accepted{Run: run.ID, Response: turn}, c.Stops.stopRun(ctx, run)
	}
	m := chat.Message{
		Memory: chat.Memory{
			ID: chat.MemoryID(run.ID) + "/retry", Room: room.ID, Author: by.Author, Name: by.Name, Text: "/" + string(name), At: time.Now(), InReplyTo: run.Said(),
		},
		Place: room, Address: run.Address.For(by.Author, by.BilledTo), Roles: by.Roles, Addressed: true,
	}
	if m, err = clean(ctx, m); err != nil {
		return chat.Accepted{}, err
	}
	acc, known, err := firstDelivery(ctx, c.Store, m.Memory) // a second press
	if known || err != nil {
		return acc, err
	}
	return c.accept(ctx, m, name)
}

// underButton returns the run that a button is about, or the reason for the user why the button does nothing. It fails with the error of
// the store.
func (c *Commands) underButton(ctx context.Context, room chat.Room, by chat.Choice, name chat.CommandName, turn chat.ResponseID) (run chat.Run, refused string, err error) {
	if in, err := c.Pairing.Invited(ctx, room, by.Author, by.Roles); err != nil || !in {
		return run, lang.Say(ctx, "choice.not_invited"), err
	}
	open, err := c.Store.OpenRuns(ctx, room.ID)
	if err != nil {
		return run, "", err
	}
	switch at := slices.IndexFunc(open, func(r chat.Run) bool { return r.Response == turn }); {
	case at >= 0:
		run = open[at]
	case name == chat.Stop:
		return run, lang.Say(ctx, "button.ended"), nil
	case slices.ContainsFunc(open, func(r chat.Run) bool { return r.Response > turn && r.Kind.Claims() }):
		return run, lang.Say(ctx, "button.older"), nil
	default:
		if run, err = c.latest(ctx, room.ID, turn); err != nil || run.ID == "" {
			return run, lang.Say(ctx, "button.older"), err
		}
	}
	if name == chat.RetryCommand && !run.Outcome.Done() {
		return run, lang.Say(ctx, "button.older"), nil // it was answered again already
	}
	from := chat.Address{AuthorizedByRole: by.Author, StaffByRole: c.Pairing.Policy.IsStaffRole(room, by.Roles)}
	if staff, err := c.Pairing.IsStaff(ctx, by.Author, from); err != nil || !staff && run.Author != by.Author {
		return run, lang.Say(ctx, "button.not_asker"), err
	}
	return run, "", nil
}

// latest returns the run of a turn if its answer is the last one in the room, or a zero one. It fails with the error of the store.
func (c *Commands) latest(ctx context.Context, room chat.RoomID, turn chat.ResponseID) (chat.Run, error) {
	recent, err := c.Store.Recent(ctx, room, chat.Said, 0, prompt.Window)
	for _, m := range slices.Backward(recent) {
		if m.Author != c.Agent || m.InReplyTo == "" { // notices reply to nothing
			continue
		}
		if t, ok := chat.TurnOf(m.ID); !ok || t != turn {
			break
		}
		run, err := c.Store.Run(ctx, chat.RunID(m.ID))
		return run, chat.Unless(err, chat.ErrNotFound)
	}
	return chat.Run{}, err
}
