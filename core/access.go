package core

import (
	"context"
	"fmt"

	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
)

// applyOverride applies the settings of the turn's room.
func applyOverride(o access.Override, s *action.TurnContext) {
	if o.System != "" {
		s.Agent.System = o.System
	}
}

// admission is what access says of one message. It is computed once, when the message arrives.
type admission struct {
	known    bool // the author has access
	invited  bool // the agent works for the author: their commands count. A bot's don't, if it isn't answered
	answered bool // the message can get an answer, even if only the line for strangers
}

// admission applies the access policy to m. Bots are never invited, so they give no commands.
func (t *intake) admission(ctx context.Context, m chat.Message) (a admission, err error) {
	policy, private := t.rt.cfg.Access, m.Place.Kind.Private()
	if a.known, err = t.rt.pairing.Invited(ctx, m.Place, m.Author, m.Roles); err != nil {
		return admission{}, fmt.Errorf("check access of the author of %s: %w", m.ID, err)
	}
	if m.Bot && (policy.Bots != access.BotsMention || !m.Addressed || private) {
		return a, nil // bots that answer each other must not talk without end
	}
	a.invited = a.known
	// A role that came with a question also covers the choice that follows it, which comes without roles.
	byRole := m.Address.AuthorizedByRole == m.Author && m.Author != ""
	a.known = a.known || byRole
	if a.answered = a.invited; private || byRole {
		a.answered = !policy.Off(m.Place)
	}
	return a, nil
}

// stays reports whether author, who asked what run answers, would be answered today. In groups it only looks at the room: roles come with
// messages, and are not known at other times.
func (t *intake) stays(ctx context.Context, run chat.Run, author chat.EntityID) (bool, error) {
	room, err := t.store.Room(ctx, run.Room)
	if err != nil {
		return false, fmt.Errorf("find the room of %s: %w", run.ID, err)
	}
	if room.Kind.Private() {
		return t.rt.pairing.Invited(ctx, room, author, nil)
	}
	return !t.rt.cfg.Access.Off(room), nil
}
