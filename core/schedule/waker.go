package schedule

import (
	"context"
	"errors"
	"fmt"

	"parley/core/answer"
	"parley/core/chat"
)

// A Waker wakes parked runs, of any process. It is safe for concurrent use.
type Waker struct {
	Store WakeStore
	Lanes *Lanes
}

// WakeStore contains the store methods of a [Waker].
type WakeStore interface {
	Wake(ctx context.Context, id chat.RunID, end answer.Status) error
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
}

// GoOn makes a parked run continue. It does nothing for other runs, and fails with the error of the store.
func (w *Waker) GoOn(ctx context.Context, id chat.RunID, room chat.RoomID) error {
	_, err := w.wake(ctx, id, room, "")
	return err
}

// End makes a parked run end with a status, and reports whether it was parked. It fails with the error of the store.
func (w *Waker) End(ctx context.Context, id chat.RunID, room chat.RoomID, as answer.Status) (parked bool, err error) {
	return w.wake(ctx, id, room, as)
}

// Supersede ends a parked run because another one has taken its place. It does nothing for other runs, and fails with
// the error of the store.
func (w *Waker) Supersede(ctx context.Context, id chat.RunID, room chat.RoomID) error {
	_, err := w.wake(ctx, id, room, answer.Superseded)
	return err
}

// StopAll stops the parked runs of room up to a turn: a later one may have been asked after the stop. It fails with the
// error of the store.
func (w *Waker) StopAll(ctx context.Context, room chat.RoomID, upTo chat.ResponseID) error {
	open, err := w.Store.OpenRuns(ctx, room)
	for _, r := range open {
		if err == nil && r.Parked && r.Response <= upTo {
			_, err = w.wake(ctx, r.ID, room, answer.Stopped)
		}
	}
	return err
}

// wake wakes a run in the store, and the lane of its room in this process. Another process can be faster; that is why
// the store decides. It fails with the error of the store.
func (w *Waker) wake(ctx context.Context, id chat.RunID, room chat.RoomID, end answer.Status) (bool, error) {
	err := w.Store.Wake(ctx, id, end)
	if errors.Is(err, answer.ErrLost) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("wake the run %s: %w", id, err)
	}
	w.Lanes.WakeRoom(room)
	return true, nil
}
