package relay

import (
	"context"

	"parley/core/answer"
	"parley/core/chat"
)

// Bus carries what changes in the answers of a room to those who watch it on other replicas. It may lose frames and
// repeat them, and retains nothing.
type Bus interface {
	// Publish gives f to everybody subscribed to room, soon, in the order of its calls. It never waits for readers.
	Publish(ctx context.Context, room chat.RoomID, f Frame) error
	// Subscribe delivers what is published from now on, until ctx is done; then the channel is closed. A reader who
	// is too slow misses frames. A channel may also be closed early when the connection is lost: subscribe again.
	Subscribe(ctx context.Context, room chat.RoomID) (<-chan Frame, error)
}

// Frame is what changed in an answer since From. A frame without Changes asks for all of it: the holder answers with
// one from 0.
type Frame struct {
	Run     chat.RunID      `json:"run"`
	Epoch   chat.Epoch      `json:"epoch,omitempty"`
	From    answer.Cursor   `json:"from,omitempty"`
	Changes []answer.Change `json:"changes,omitempty"`
}
