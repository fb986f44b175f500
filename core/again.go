package core

import (
	"context"
	"errors"
	"fmt"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/prompt"
)

// lastAsked returns the last question among recent: its index, and its run. It fails with [chat.ErrNotFound] if there is none. Messages that
// the agent decided to ignore are no questions.
func (h *commandHandler) lastAsked(ctx context.Context, recent []chat.Memory) (at int, run chat.Run, err error) {
	for at = len(recent) - 1; at >= 0; at-- {
		if recent[at].Author == h.rt.cfg.Agent.Entity() {
			continue
		}
		run, err = h.store.RunOf(ctx, recent[at].ID)
		switch {
		case chat.Unless(err, chat.ErrNotFound) != nil:
			return 0, chat.Run{}, fmt.Errorf("find the last question: %w", err)
		case err == nil && run.Outcome.Status != answer.Ignored:
			return at, run, nil
		}
	}
	return 0, chat.Run{}, chat.ErrNotFound
}

// askedAgain returns s, the turn of a retry, as it was when the last question was asked. The answers since are forgotten: people still see
// them, but prompts don't hold them, or the model would only repeat them.
func (pn *preparation) askedAgain(ctx context.Context, s action.TurnContext) (action.TurnContext, error) {
	var at int
	err := pn.x.persist(ctx, func() (err error) {
		var asked chat.Run
		at, asked, err = pn.x.rt.commands.lastAsked(ctx, s.Recent)
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
	case at < 0: // it was forgotten meanwhile
		return s, chat.ErrNothingToSay
	}
	return prompt.Retried(s, at), nil
}

// forgetAnswers forgets those of later that answer the same question as asked, at first or in an earlier retry.
func (pn *preparation) forgetAnswers(ctx context.Context, asked chat.Run, later []chat.Memory) error {
	for _, m := range later {
		if m.Author != pn.x.rt.cfg.Agent.Entity() {
			continue
		}
		run, err := pn.store.Run(ctx, chat.RunID(m.ID))
		if chat.Unless(err, chat.ErrNotFound) != nil {
			return err
		}
		if err == nil && (run.ID == asked.ID || run.Kind == chat.RunRetry) {
			if err := pn.store.Forget(ctx, m.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// nothingToRetry answers /retry where it found no question; with one it became a run of another kind.
func (cr *commandRun) nothingToRetry(context.Context) (string, error) {
	return "There is no question to retry.", nil
}
