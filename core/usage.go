package core

import (
	"context"

	"parley/core/chat"
	"parley/core/quota"
)

// usage says what the person and the room used. Those who read details learn all of it.
func (cr *commandRun) usage(ctx context.Context) (text string, err error) {
	m, err := cr.x.input(ctx)
	if err != nil {
		return "", err
	}
	a := quota.Asker{Person: cr.x.run.Address.BilledTo, Room: m.Room, Lasts: cr.x.run.Address.BilledTo == m.Author}
	err = cr.x.persist(ctx, func() error {
		room, err := cr.store.Room(ctx, m.Room)
		if err != nil {
			return err
		}
		a.Group = !room.Kind.Private()
		if a.Owner, err = cr.details(ctx, m); err != nil {
			return err
		}
		recent, err := cr.store.Recent(ctx, m.Room, chat.Said, 0, 1)
		if err != nil {
			return err
		}
		if len(recent) > 0 && recent[0].Author == cr.x.rt.cfg.Agent.Entity() {
			a.Answer = chat.RunID(recent[0].ID) // see [chat.Run.Said]
		}
		text, err = cr.x.rt.cfg.Meter.Report(ctx, a)
		return err
	})
	return text, err
}
