package core

import (
	"context"
	"slices"

	"parley/core/action"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/prompt"
)

// recall reads what the turn is about: its room, what was said there up to the turn, and who asks. It reads again at each attempt, so what
// was edited or deleted since counts as it is now. The rights of the turn are those that all its authors have.
func (pn *preparation) recall(ctx context.Context) (s action.TurnContext, err error) {
	err = pn.x.persist(ctx, func() error {
		s = pn.x.rt.answering(action.TurnContext{Agent: pn.x.rt.cfg.Agent, Run: pn.x.run.ID, Private: pn.x.run.RoomKind.Private(), Answered: pn.x.run.Inputs})
		s.Owner, s.Allowed = len(pn.x.run.Inputs) > 0, len(pn.x.run.Inputs) > 0
		if s.Room, err = pn.store.Room(ctx, pn.x.run.Room); err != nil {
			return err
		}
		if s.Settings, err = pn.x.rt.models.Settings(ctx, s.Room.ID); err != nil {
			return err
		}
		applyOverride(pn.x.rt.cfg.Access.OverrideFor(s.Room), &s)
		if s.Recent, err = pn.store.Recent(ctx, pn.x.run.Room, chat.Said, pn.x.run.Response, prompt.Window); err != nil {
			return err
		}
		s.Recent = attachment.WithoutRepeats(s.Recent, pn.x.run.Inputs)
		for _, id := range pn.x.run.Inputs {
			m, err := pn.input(ctx, id, s.Recent)
			switch {
			case chat.Unless(err, chat.ErrNotFound) != nil:
				return err
			case err == nil:
				s.Message = m
			}
			if err := pn.rights(ctx, m.Author, &s); err != nil {
				return err
			}
		}
		return nil
	})
	return s, err
}

// input returns a message of the run, from recent where it is a part of that.
func (pn *preparation) input(ctx context.Context, id chat.MemoryID, recent []chat.Memory) (chat.Memory, error) {
	if i := slices.IndexFunc(recent, func(m chat.Memory) bool { return m.ID == id }); i >= 0 {
		return recent[i], nil
	}
	return pn.store.Memory(ctx, id)
}

// rights takes from s the rights that author does not have. They are looked up for each turn and never cached: a person whose access was
// revoked has none from then on.
func (pn *preparation) rights(ctx context.Context, author chat.EntityID, s *action.TurnContext) (err error) {
	if s.Owner {
		if s.Owner, err = pn.x.rt.pairing.Owns(ctx, author); err != nil {
			return err
		}
	}
	if s.Allowed && !s.Owner && !pn.x.rt.cfg.Access.People[author] && pn.x.run.Address.AuthorizedByRole != author {
		_, err = pn.store.Person(ctx, author)
		s.Allowed = err == nil
	}
	return chat.Unless(err, chat.ErrNotFound)
}
