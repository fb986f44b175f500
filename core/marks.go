package core

import (
	"context"

	"parley/core/chat"
)

// Upkeep removes what has outlived its use.
type Upkeep interface {
	// Expire removes what is older than before says: marks by when they were set; runs that have ended, by when they were opened;
	// questions of such runs; rooms of no world in which nothing is remembered, noted or set and no person is reached, by their
	// Created if they have one; and entities that nothing is remembered of, who are in no world and no people of the owner's. It does a
	// bounded part of the work, and reports whether there is more to do: then it goes on with the next call. With the last part,
	// what was forgotten or removed before the call is gone from where the store keeps its bytes.
	Expire(ctx context.Context, before chat.Expiry) (more bool, err error)
}

// Marks tell events that were accepted from new ones, for longer than what they said is remembered: a redelivery repeats nothing
// (IN-17). A memory of what arrived is its own mark; Forget and Clear leave one in its place.
type Marks interface {
	// Known returns what in was accepted as when it first arrived, with Duplicate set. Chosen is set if it was taken as a
	// choice. If it was forgotten since, it has a Run only while that is open, and is not Altered. [chat.ErrNotFound] if it never
	// arrived, or its mark has expired.
	Known(ctx context.Context, in chat.Memory) (chat.Accepted, error)
	// Mark notes, once, that the event id of room was accepted, which leaves no memory, and returns the last turn of the room
	// at that time as its Response. Of an event known already it returns what Known does.
	Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (chat.Accepted, error)
}
