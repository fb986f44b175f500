package turn

import (
	"context"
	"log/slog"

	"parley/core/chat"
	"parley/core/consent"
	"parley/core/event"
	"parley/core/generate"
	"parley/core/schedule"
)

// Generator makes the writers of answers, and the calls of actions. Its fields are set before use. It is safe for concurrent use.
type Generator struct {
	Config    generate.Config
	Turns     schedule.TurnPolicy
	Tools     *Tools
	Approvals *consent.Approvals
	Gate      *Gate
	Say       func(ctx context.Context, n chat.Notice) error // sends a message to another room
	Emit      func(event.Event)
	Log       *slog.Logger
}
