package prompt

import (
	"context"
	"fmt"
	"slices"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
)

// retryLine is what a model reads as the words of a person who retries the question of another.
const retryLine = "Answer this again."

// Retried returns s, whose message is a retry, with the question at a place of Recent in place of that. Identity and
// rights stay with the person who retries, whose words only quote the question of another: otherwise anyone could have
// an owner's question answered with the owner's rights.
func Retried(s action.TurnContext, at int) action.TurnContext {
	by, asked := s.Message, s.Recent[at]
	s.Recent = slices.Clone(s.Recent[:at+1])
	if asked.Author == by.Author {
		s.Message, s.Answered = asked, []chat.MemoryID{asked.ID}
		return s
	}
	by.Kind, by.InReplyTo, by.Text = chat.Said, asked.ID, retryLine
	by.Quoted = chat.Quoted{Name: text.Label(asked.Name), Text: text.OneLine(asked.PromptText(), chat.ShortQuote)}
	s.Recent = append(s.Recent, by)
	by.Quoted, by.Text, by.Files = asked.Quoted, asked.Text, asked.Files
	s.Message = by
	return s
}

// AskedStore finds the run that answers a message. It fails with [chat.ErrNotFound] if there is none.
type AskedStore interface {
	RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
}

// LastAsked returns the last question to agent among recent: its index, and its run. It fails with [chat.ErrNotFound] if there is none.
// Messages that the agent decided to ignore are no questions.
func LastAsked(ctx context.Context, store AskedStore, agent chat.EntityID, recent []chat.Memory) (at int, run chat.Run, err error) {
	for at = len(recent) - 1; at >= 0; at-- {
		if recent[at].Author == agent {
			continue
		}
		run, err = store.RunOf(ctx, recent[at].ID)
		switch {
		case chat.Unless(err, chat.ErrNotFound) != nil:
			return 0, chat.Run{}, fmt.Errorf("find the last question: %w", err)
		case err == nil && run.Outcome.Status != answer.Ignored:
			return at, run, nil
		}
	}
	return 0, chat.Run{}, chat.ErrNotFound
}
