package example

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
)

// pick asks users to pick a tea from the shelf: PICK_TEA.
type pick []string

// Spec implements [action.Action].
func (pick) Spec() action.Spec {
	return action.Spec{
		Name:        "PICK_TEA",
		Description: "Ask the user which tea they want.",
		Effect:      action.Reads,
		Limit:       6 * time.Minute, // a user has five minutes to choose
	}
}

// Act implements [action.Action].
func (shelf pick) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	progress := action.NewProgress(c)
	progress.Update("🍵 Looking at the shelf…")
	q, err := progress.Choose(ctx, "🍵 Which tea?", chat.Question{Options: shelf})
	if errors.Is(err, chat.ErrUnseen) { // nothing is shown before the end: take the first
		err = nil
	}
	if err != nil {
		progress.Fail("No one picked a tea.")
		return action.Result{}, fmt.Errorf("ask which tea: %w", err)
	}
	tea := q.Options[q.Choice]
	progress.Complete("🍵 "+tea+" it is.", llm.File{Name: tea + ".txt", Type: "text/plain", Data: []byte("Four minutes.\n")})
	return action.Result{Text: tea + " was picked.", Short: tea}, nil
}
