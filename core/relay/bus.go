// Package relay keeps the answers that are generated or watched in this process, and mirrors them between processes
// over a bus that can lose frames: watchers send requests, the holder publishes changes, and the store is authoritative
// for the end.
//
// A [Registry] has one answer for each run, for all its users. The process that holds the run writes into it, and
// readers in the same process read the same value. In any other process a mirror is filled from frames. Frames are
// published only on request: most answers have no readers elsewhere.
//
// Three things can go wrong, and each has its remedy. A frame is lost: the mirror sees the gap, since a frame says
// where it begins, and asks for everything. The end, or the question of a parked run, is lost: the watcher looks into the
// store from time to time. The run moves to another process: its epoch is higher, and the mirror is abandoned, so that
// readers call [Registry.Watch] again and start over.
package relay

import (
	"context"
	"encoding/json"
	"fmt"

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
	// misses frames. The channel can also be closed early when the connection is lost: subscribe again. It fails if the
	// bus can't be reached.
	Subscribe(ctx context.Context, room chat.RoomID) (<-chan Frame, error)
}

// Frame contains the changes of an answer since From. A frame without Changes is a request for all of them: the holder
// replies with a frame from 0. A frame with Chosen signals a choice to the holder instead. It is sent as JSON between
// processes of possibly different versions.
type Frame struct {
	Run     chat.RunID      `json:"run"`
	Epoch   chat.Epoch      `json:"epoch,omitempty"`
	From    answer.Cursor   `json:"from,omitempty"`
	Changes []answer.Change `json:"changes,omitempty"`
	Chosen  bool            `json:"chosen,omitempty"`
}

// Shown is the visible part of a run that is parked. It is a part of its continuation, as JSON.
type Shown struct {
	Changes []answer.Change `json:"changes"`
}

// showParked adds the visible part of a parked run to its answer, unless the run was adopted meanwhile. Changes that the answer has already stay as
// they are; content of an earlier holder is abandoned, so that readers call [Registry.Watch] again. It fails with the error of the store.
func (l *Registry) showParked(ctx context.Context, run chat.Run, r *liveRun) error {
	l.mu.Lock()
	known := r.parked == run.Epoch
	l.mu.Unlock()
	if known {
		return nil
	}
	data, err := l.store.Continuation(ctx, run.ID)
	if err != nil {
		return chat.Unless(err, chat.ErrNotFound) // it was just woken
	}
	var shown Shown
	if err := json.Unmarshal(data, &shown); err != nil {
		return fmt.Errorf("read what the parked run %s has shown: %w", run.ID, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.held || l.runs[run.ID] != r || r.epoch > run.Epoch {
		return nil
	}
	if r.epoch != 0 && r.epoch < run.Epoch-1 { // parking raises the epoch of its holder by one
		r.answer.Abandon()
		delete(l.runs, run.ID)
		return nil
	}
	r.epoch, r.parked = run.Epoch, run.Epoch
	for _, c := range shown.Changes {
		r.answer.Apply(c)
	}
	return nil
}
