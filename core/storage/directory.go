package storage

import (
	"context"

	"parley/core/chat"
)

// Directory knows who and what there is. What is saved as it was costs no write.
type Directory interface {
	// Entity returns one, or [chat.ErrNotFound].
	Entity(ctx context.Context, id chat.EntityID) (chat.Entity, error)
	// Meet stores e; the names it was known by stay, and the details that e does not have. One without a text goes. It says
	// what of that is news.
	Meet(ctx context.Context, e chat.Entity) (chat.News, error)
	// World returns one, or [chat.ErrNotFound].
	World(ctx context.Context, id chat.WorldID) (chat.World, error)
	// SaveWorld stores w; without a name it keeps the one it had.
	SaveWorld(ctx context.Context, w chat.World) (chat.News, error)
	// SaveMember stores m; without a role it keeps the one it had.
	SaveMember(ctx context.Context, m chat.Member) (chat.News, error)
	// Members are those of a world, also who is gone, by their ids; at most limit of them, after the one named after.
	Members(ctx context.Context, world chat.WorldID, after chat.EntityID, limit int) ([]chat.Member, error)
	// RoomsOf are the rooms of a world.
	RoomsOf(ctx context.Context, world chat.WorldID) ([]chat.RoomID, error)
}
