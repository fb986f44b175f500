package core

import (
	"context"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/question"
)

// chooseModel sets the route of models that answer the turn, and returns the first. If the model that was chosen for the room is not
// configured any more, the choice is cleared, and the answer says so once.
func (pn *preparation) chooseModel(ctx context.Context, s action.TurnContext) (llm.Named, error) {
	m, removed := pn.x.rt.models.Model(s.Settings, s.Room, s.Message.Author)
	if removed {
		if err := pn.x.persist(ctx, func() error { return pn.x.rt.models.Save(ctx, s.Room.ID, "") }); err != nil {
			return m, err
		}
	}
	pn.x.gen.Route, pn.x.gen.Removed = pn.x.rt.models.Table.Route(m.Name), removed
	if s := pn.x.gen.State; s != nil && s.Models != nil { // which were chosen for this answer
		pn.x.gen.Route.Keep(func(m llm.Named) bool { return slices.Contains(s.Models, m.Name) })
	}
	pn.reading.Vision = m.Vision
	return m, nil
}

// models answers /model: it lists the models with buttons, or switches to the one that is named.
func (cr *commandRun) models(ctx context.Context) (said string, err error) {
	m, err := cr.x.input(ctx)
	if err != nil {
		return "", err
	}
	_, wanted, _ := strings.Cut(strings.TrimSpace(m.Text), " ")
	var ask *chat.Question
	err = cr.x.persist(ctx, func() error {
		r := generate.SwitchRequest{Message: m, Wanted: strings.TrimSpace(wanted), Most: question.MaxOptions}
		var err error
		if r.Details, err = cr.details(ctx, m); err != nil {
			return err
		}
		if r.Details {
			r.Others = cr.x.rt.cfg.About.Work(!cr.several())
		}
		said, ask, err = cr.x.rt.models.Reply(ctx, r)
		return err
	})
	if err == nil && ask != nil {
		_, err = cr.x.asking.ask(ctx, *ask)
	}
	return said, err
}

// several reports whether there is more than one model that can answer.
func (cr *commandRun) several() bool { return len(cr.x.rt.models.Table.Models()) > 1 }

// model returns the name of the model that answers author in room: what its provider calls it, for those who read details; or
// else what the configuration calls it, for those who can switch it; or "".
func (cr *commandRun) model(ctx context.Context, room chat.Room, author chat.EntityID, details bool) (string, error) {
	switch {
	case !cr.several() && details:
		return cr.x.rt.cfg.About.Answering(), nil
	case !cr.several():
		return "", nil
	case details:
		return cr.x.rt.models.Label(ctx, room, author)
	}
	return cr.x.rt.models.Choice(ctx, room, author)
}
