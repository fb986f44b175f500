package action

import (
	"context"
	"log/slog"

	"parley/core/chat"
	"parley/core/llm"
)

// Services is what [Plugin.Init] is given. The plugin can keep it until its Work returns. Safe for concurrent use.
type Services struct {
	Log    *slog.Logger // adds the name of the plugin to every line
	State  State        // each plugin has its own
	Models llm.Models   // what they cost counts towards the limits
	// Say sends a message of the agent, on its own initiative: see [core.Runtime].
	Say func(ctx context.Context, n chat.Notice) (chat.Accepted, error)
	// TellOwners sends a text to each owner in their direct chat, as far as these are known, once for each key.
	TellOwners func(ctx context.Context, key, text string) error
	// Task gives the agent a task. [chat.ErrNotFound] or [chat.ErrUnreached] if it can't be done in that room; after any other error it
	// is not accepted and must come again.
	Task func(ctx context.Context, t chat.Task) (chat.Accepted, error)
}

// State stores what must survive a restart: little, and rarely written.
type State interface {
	// Keep stores value in place of what was stored under name. It is safe when Keep returns.
	Keep(ctx context.Context, name, value string) error
	// Kept returns what was stored last under name, or "".
	Kept(ctx context.Context, name string) (string, error)
	// Swap stores value under name if old is what is stored there, where "" is nothing, and reports whether it was: several gateways can
	// share what is stored.
	Swap(ctx context.Context, name, old, value string) (bool, error)
}
