package action

import (
	"context"

	"parley/core/chat"
)

// ChoiceHandler goes on with what somebody has chosen. Plugins bring theirs.
type ChoiceHandler interface {
	Name() string
	// Chosen does what was chosen, and returns what is to be said of it, which may be nothing. The choice was made once and for
	// all; after a crash it may be carried out again.
	Chosen(ctx context.Context, q chat.Question) (says string, err error)
}
