package relay

import (
	"context"

	"parley/core/answer"
	"parley/core/chat"
)

// A Bus carries changes of answers to readers on other replicas. It may lose and repeat frames, and retains nothing.
// Implementations are safe for concurrent use.
type Bus interface {
	// Publish sends f to all subscribers of room, including those of this process, in the order of the calls. It never
	// waits for readers. An error means that f may be lost.
	Publish(ctx context.Context, room chat.RoomID, f Frame) error
	// Subscribe delivers frames published from now on, until ctx is done; then the channel is closed. A slow reader
	// misses frames. The channel can also be closed early when the connection is lost: subscribe again.
	Subscribe(ctx context.Context, room chat.RoomID) (<-chan Frame, error)
}

// Frame contains the changes of an answer since From. A frame without Changes is a request for all of them: the holder
// replies with a frame from 0. One that is Chosen tells the holder instead that a choice was made. It is sent as JSON
// between processes of possibly different versions.
type Frame struct {
	Run     chat.RunID      `json:"run"`
	Epoch   chat.Epoch      `json:"epoch,omitempty"`
	From    answer.Cursor   `json:"from,omitempty"`
	Changes []answer.Change `json:"changes,omitempty"`
	Chosen  bool            `json:"chosen,omitempty"`
}
