package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
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
	err = cr.x.persist(ctx, func() (err error) {
		said, ask, err = cr.x.rt.models.Reply(ctx, m, strings.TrimSpace(wanted), cr.otherModels(), mostOptions)
		return err
	})
	if err == nil && ask != nil {
		_, err = cr.x.asking.ask(ctx, *ask)
	}
	return said, err
}

// several reports whether there is more than one model that can answer.
func (cr *commandRun) several() bool { return len(cr.x.rt.models.Table.Models()) > 1 }

// otherModels lists the models by their work, without those that answer where there are several.
func (cr *commandRun) otherModels() string {
	var lines []string
	for i, m := range cr.x.rt.cfg.About.Models {
		if i > 0 || !cr.several() {
			lines = append(lines, fmt.Sprintf("- %s: `%s`", m.Work, m.Name))
		}
	}
	if len(lines) == 0 && !cr.several() {
		return "No model name is configured."
	}
	return strings.Join(lines, "\n")
}

// model returns what people read as the name of the model that answers the author of the command in room, or "".
func (cr *commandRun) model(ctx context.Context, room chat.Room) (string, error) {
	if !cr.several() {
		if all := cr.x.rt.cfg.About.Models; len(all) > 0 {
			return all[0].Name, nil
		}
		return "", nil
	}
	m, err := cr.x.input(ctx)
	if err != nil {
		return "", err
	}
	return cr.x.rt.models.Label(ctx, room, m.Author)
}
