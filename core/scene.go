package core

import "context"

// recall finds out what the turn is about: its room, what was said there, and who asks. What was forgotten since the run
// began is no part of it.
func (x *execution) recall(ctx context.Context) (s Scene, err error) {
	err = x.persist(ctx, func() error {
		s = Scene{Agent: x.cfg.Agent, Run: x.run.ID, Private: x.run.Kind.Private(), Owner: len(x.run.Inputs) > 0}
		if s.Room, err = x.cfg.Store.Room(ctx, x.run.Room); err != nil {
			return err
		}
		if s.Recent, err = x.cfg.Store.Recent(ctx, x.run.Room, Said, x.run.Response, window); err != nil {
			return err
		}
		for _, id := range x.run.Inputs {
			m, err := x.cfg.Store.Memory(ctx, id)
			switch {
			case ignore(err, ErrNotFound) != nil:
				return err
			case err == nil:
				s.Message = m
			}
			if s.Owner = s.Owner && err == nil; s.Owner {
				if s.Owner, err = x.owns(ctx, m.Author); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return s, err
}
