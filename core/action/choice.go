package action

import (
	"context"

	"parley/core/chat"
)

// A ChoiceHandler processes a choice that a user made. Plugins provide them.
type ChoiceHandler interface {
	Name() string
	// Chosen processes the choice and returns a reply, which can be empty. A choice is final, but after a crash Chosen
	// can be called again, so it should be idempotent.
	Chosen(ctx context.Context, q chat.Question) (says string, err error)
}
