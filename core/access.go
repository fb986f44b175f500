package core

import (
	"context"
	"fmt"

	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
)

// applyOverride makes of s what it is there.
func applyOverride(o access.Override, s *action.TurnContext) {
	if o.System != "" {
		s.Agent.System = o.System
	}
}

// admits says whether m may get an answer, be it only the one line for strangers.
func (t *intake) admits(ctx context.Context, m chat.Message) (bool, error) {
	switch {
	case m.Bot && (t.rt.cfg.Access.Bots != access.BotsMention || !m.Addressed || m.Place.Kind.Private()):
		return false, nil // I13
	case m.Place.Kind.Private():
		return !t.rt.cfg.Access.Off(m.Place), nil
	case m.Address.AuthorizedByRole == m.Author && m.Author != "": // also of what they chose, where there are no roles to look at
		return !t.rt.cfg.Access.Off(m.Place), nil
	}
	return t.rt.pairing.Invited(ctx, m.Place, m.Author, m.Roles)
}

// stays says whether author, who asked what run answers, is still to be answered. In a group who was invited then is
// invited now: of their roles nothing is known but what came with the question.
func (t *intake) stays(ctx context.Context, run chat.Run, author chat.EntityID) (bool, error) {
	room, err := t.rt.cfg.Store.Room(ctx, run.Room)
	if err != nil {
		return false, fmt.Errorf("find the room of %s: %w", run.ID, err)
	}
	if room.Kind.Private() {
		return t.rt.pairing.Invited(ctx, room, author, nil)
	}
	return !t.rt.cfg.Access.Off(room), nil
}
