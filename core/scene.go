package core

import (
	"context"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/prompt"
)

// recall finds out what the turn is about: its room, what was said there, and who asks. What was forgotten since the run
// began is no part of it.
func (x *execution) recall(ctx context.Context) (s action.TurnContext, err error) {
	err = x.persist(ctx, func() error {
		s = x.rt.answering(action.TurnContext{Agent: x.rt.cfg.Agent, Run: x.run.ID, Private: x.run.RoomKind.Private(), Answered: x.run.Inputs})
		s.Owner, s.Allowed = len(x.run.Inputs) > 0, len(x.run.Inputs) > 0
		if s.Room, err = x.rt.cfg.Store.Room(ctx, x.run.Room); err != nil {
			return err
		}
		applyOverride(x.rt.cfg.Access.OverrideFor(s.Room), &s)
		if s.Recent, err = x.rt.cfg.Store.Recent(ctx, x.run.Room, chat.Said, x.run.Response, prompt.Window); err != nil {
			return err
		}
		for _, id := range x.run.Inputs {
			m, err := x.rt.cfg.Store.Memory(ctx, id)
			switch {
			case ignore(err, chat.ErrNotFound) != nil:
				return err
			case err == nil:
				s.Message = m
			}
			if err := x.rights(ctx, m.Author, &s); err != nil {
				return err
			}
		}
		return nil
	})
	return s, err
}

// rights takes from s what author may not do.
func (x *execution) rights(ctx context.Context, author chat.EntityID, s *action.TurnContext) (err error) {
	if s.Owner {
		if s.Owner, err = x.rt.pairing.owns(ctx, author); err != nil {
			return err
		}
	}
	if s.Allowed && !s.Owner && !x.rt.cfg.Access.People[author] && x.run.Address.AuthorizedByRole != author {
		_, err = x.rt.cfg.Store.Person(ctx, author)
		s.Allowed = err == nil
	}
	return ignore(err, chat.ErrNotFound)
}
