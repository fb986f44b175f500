package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/prompt"
)

// refuse answers, without a model, users without access and users who send a code. It applies only to direct chats: in
// other rooms, access was checked before the run was opened.
func (pn *preparation) refuse(ctx context.Context, recent []chat.Memory, question chat.Memory) error {
	room := chat.Room{Kind: pn.at.run.RoomKind, Connector: pn.at.run.Address.Connector}
	if question.ID == "" || pn.at.run.Kind == chat.RunTask || !room.Kind.Private() || pn.Recaller.Access.Open[room.Connector] {
		return nil
	}
	g := access.Guest{Person: chat.Person{ID: question.Author, Name: question.Name, Address: pn.at.run.Address.Later(), Since: time.Now()}, Room: room, Says: question.Text}
	g.Greeted = len(recent) == prompt.Window // after as many messages the user was told before, or does not listen
	for _, m := range recent {
		g.Greeted = g.Greeted || m.Author == pn.Recaller.Agent.Entity()
	}
	var in bool
	var line string
	err := pn.journal.persist(ctx, func() (err error) {
		in, line, err = pn.Recaller.Pairing.Check(ctx, g)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("check access in %s: %w", pn.at.run.ID, err)
	case line != "":
		pn.gen.Trace.Actions = []string{chat.AccessAction}
		pn.at.answer.Apply(answer.Change{Kind: answer.Text, Text: line})
		return errAnswered
	case !in:
		return chat.ErrNothingToSay
	}
	return nil
}

// askedAgain returns s, the turn of a retry, in the state of the last question. It deletes the answers since: users
// still see them, but prompts don't contain them, or the model would only repeat them. It fails with
// [chat.ErrNothingToSay] if there is no question, and with the error of the store.
func (pn *preparation) askedAgain(ctx context.Context, s action.TurnContext) (action.TurnContext, error) {
	var at int
	err := pn.journal.persist(ctx, func() (err error) {
		var asked chat.Run
		at, asked, err = prompt.LastAsked(ctx, pn.Store, pn.Recaller.Agent.Entity(), s.Recent)
		if err == nil {
			err = pn.forgetAnswers(ctx, asked, s.Recent[at+1:])
		}
		if errors.Is(err, chat.ErrNotFound) {
			at, err = -1, nil
		}
		return err
	})
	switch {
	case err != nil:
		return s, err
	case at < 0: // it was deleted meanwhile
		return s, chat.ErrNothingToSay
	}
	return prompt.Retried(s, at), nil
}

// forgetAnswers deletes the answers among later to the same question as asked, original or retried. It fails with the
// error of the store.
func (pn *preparation) forgetAnswers(ctx context.Context, asked chat.Run, later []chat.Memory) error {
	for _, m := range later {
		if m.Author != pn.Recaller.Agent.Entity() {
			continue
		}
		run, err := pn.Store.Run(ctx, chat.RunID(m.ID))
		if chat.Unless(err, chat.ErrNotFound) != nil {
			return err
		}
		if err == nil && (run.ID == asked.ID || run.Kind == chat.RunRetry) {
			if err := pn.Store.Forget(ctx, m.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
