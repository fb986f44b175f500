package turn

import (
	"context"
	"slices"

	"parley/core/access"
	"parley/core/action"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/prompt"
)

// RecallStore contains the store methods of [Recaller].
type RecallStore interface {
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	Person(ctx context.Context, id chat.EntityID) (chat.Person, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
}

// Recaller reads the context of turns. Its fields are set before use. It is safe for concurrent use.
type Recaller struct {
	Store   RecallStore
	Agent   chat.Agent
	Access  access.Policy
	Pairing *access.Pairing
	Models  *generate.ModelSwitch
	Asker   *Asker
}

// recall reads the context of the turn: its room, the messages up to the turn, and the authors. It reads again at each
// attempt, so that edits and deletions since are applied. Messages of users who were blocked since are no longer inputs of the run, and not
// part of the turn. The rights of the turn are those that all its authors have. It fails with [chat.ErrNothingToSay] if no input is left,
// and with the error of the store.
func (rc *Recaller) recall(ctx context.Context, j *journal) (s action.TurnContext, err error) {
	run := &j.at.run
	blocked := map[chat.MemoryID]bool{}
	err = j.persist(ctx, func() error {
		s = rc.Asker.with(action.TurnContext{Agent: rc.Agent, Run: run.ID, Private: run.RoomKind.Private(), Answered: run.Inputs})
		s.Owner, s.Staff, s.Allowed = len(run.Inputs) > 0, len(run.Inputs) > 0, len(run.Inputs) > 0
		if s.Room, err = rc.Store.Room(ctx, run.Room); err != nil {
			return err
		}
		if s.Settings, err = rc.Models.Settings(ctx, s.Room.ID); err != nil {
			return err
		}
		applyOverride(rc.Access.OverrideFor(s.Room), &s)
		if s.Recent, err = rc.Store.Recent(ctx, run.Room, chat.Said, run.Response, prompt.Window); err != nil {
			return err
		}
		s.Recent = attachment.WithoutRepeats(s.Recent, run.Inputs)
		for _, id := range run.Inputs {
			m, err := rc.input(ctx, id, s.Recent)
			if chat.Unless(err, chat.ErrNotFound) != nil {
				return err
			}
			if blocked[id], err = rc.Pairing.Blocked(ctx, m.Author, nil); err != nil {
				return err
			} else if blocked[id] {
				continue
			}
			if m.ID != "" {
				s.Message = m
			}
			if err := rc.rights(ctx, run, m.Author, &s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(run.Inputs) == 0 {
		return s, err
	}
	run.Inputs = slices.DeleteFunc(slices.Clone(run.Inputs), func(id chat.MemoryID) bool { return blocked[id] })
	s.Answered = run.Inputs
	s.Recent = slices.DeleteFunc(slices.Clone(s.Recent), func(m chat.Memory) bool { return blocked[m.ID] })
	if len(run.Inputs) == 0 {
		return s, chat.ErrNothingToSay
	}
	return s, nil
}

// input returns a message of the run, from recent if it is a part of that. It fails with the error of the store.
func (rc *Recaller) input(ctx context.Context, id chat.MemoryID, recent []chat.Memory) (chat.Memory, error) {
	if i := slices.IndexFunc(recent, func(m chat.Memory) bool { return m.ID == id }); i >= 0 {
		return recent[i], nil
	}
	return rc.Store.Memory(ctx, id)
}

// rights removes from s the rights that author does not have. They are read for each turn and never cached: a revoked
// access ends at once. It fails with the error of the store.
func (rc *Recaller) rights(ctx context.Context, run *chat.Run, author chat.EntityID, s *action.TurnContext) (err error) {
	if s.Owner {
		if s.Owner, err = rc.Pairing.Owns(ctx, author); err != nil {
			return err
		}
	}
	staff := s.Owner
	if !staff && s.Allowed { // staff are allowed, too
		if staff, err = rc.Pairing.ListsStaff(ctx, author, run.Address); err != nil {
			return err
		}
	}
	s.Staff = s.Staff && staff
	if s.Allowed && !staff && !rc.Access.Known(author) && run.Address.AuthorizedByRole != author {
		_, err = rc.Store.Person(ctx, author)
		s.Allowed = err == nil
	}
	return chat.Unless(err, chat.ErrNotFound)
}

// Draft returns an answer to the last messages of a room, which is neither shown nor stored, without tools. It fails with the error of the model or the
// store.
func (rc *Recaller) Draft(ctx context.Context, room chat.RoomID) (string, error) {
	s := action.TurnContext{Agent: rc.Agent, Private: true}
	var err error
	if s.Room, err = rc.Store.Room(ctx, room); err != nil {
		return "", err
	}
	if s.Settings, err = rc.Models.Settings(ctx, room); err != nil {
		return "", err
	}
	applyOverride(rc.Access.OverrideFor(s.Room), &s)
	if s.Recent, err = rc.Store.Recent(ctx, room, chat.Said, 0, prompt.Window); err != nil {
		return "", err
	}
	for i := len(s.Recent) - 1; i >= 0 && s.Recent[i].Author != rc.Agent.Entity(); i-- {
		s.Message, s.Answered = s.Recent[i], append(s.Answered, s.Recent[i].ID)
	}
	req, err := rc.Asker.Composer.Turn(s).Request(ctx)
	if err != nil {
		return "", err
	}
	m, _ := rc.Models.Model(s.Settings, s.Room, s.Message.Author)
	if m.Agent { // it only answers users
		m.Model = rc.Asker.Model
	}
	return generate.Short(ctx, m.Model, req)
}

// applyOverride applies the settings of the turn's room.
func applyOverride(o access.Override, s *action.TurnContext) {
	if o.System != "" {
		s.Agent.System = o.System
	}
}

// Asker asks the small model short questions, whose answers users don't see. Its fields are set before use. It is safe for concurrent use.
type Asker struct {
	Composer *prompt.Composer
	Model    llm.Model // the small one, or the large one where there is no other
}

// askSmall asks the small model, or the large one if there is no other, an internal question. It fails with the error of
// the model.
func (a *Asker) askSmall(ctx context.Context, req llm.Request) (text string, err error) {
	return generate.Short(ctx, a.Model, req)
}

// with returns s with a function for plugins that asks the small model: an evaluator or an action renders one of the
// templates with its turn, and reads the answer.
func (a *Asker) with(s action.TurnContext) action.TurnContext {
	s.AskModel = func(ctx context.Context, s action.TurnContext, template string, more map[string]string) (string, error) {
		req, err := a.Composer.Turn(s).Prompt(ctx, template, more)
		if err != nil {
			return "", err
		}
		return a.askSmall(ctx, req)
	}
	return s
}
