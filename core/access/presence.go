package access

import (
	"context"

	"parley/core/chat"
)

// PresenceStore finds rooms and worlds. Both methods fail with [chat.ErrNotFound] if there is none.
type PresenceStore interface {
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	World(ctx context.Context, id chat.WorldID) (chat.World, error)
}

// BotRemoved reports whether the agent was removed from where run was to be answered. It fails with the error of the store.
func BotRemoved(ctx context.Context, store PresenceStore, run chat.Run) (bool, error) {
	r, err := store.Room(ctx, run.Room)
	if err != nil || r.Gone || r.World == "" {
		return r.Gone, chat.Unless(err, chat.ErrNotFound)
	}
	w, err := store.World(ctx, r.World)
	return w.Gone, chat.Unless(err, chat.ErrNotFound)
}
