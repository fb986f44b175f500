package schedule

import (
	"context"
	"errors"
	"fmt"

	"parley/core/answer"
	"parley/core/chat"
)

// ParkedRuns continues and ends parked runs, of any process. It is safe for concurrent use.
type ParkedRuns struct {
	Store ParkedRunStore
	Lanes *Lanes
}

// ParkedRunStore contains the store methods of [ParkedRuns].
type ParkedRunStore interface {
	Wake(ctx context.Context, id chat.RunID, end answer.Status) error
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
}

// Continue makes a parked run continue. It does nothing for other runs, and fails with the error of the store.
func (p *ParkedRuns) Continue(ctx context.Context, id chat.RunID, room chat.RoomID) error {
	return p.wake(ctx, id, room, "")
}

// End makes a parked run end with a status. A run that was started ends with [answer.Stopped] too, once its holder parks it or dies. It fails with
// the error of the store.
func (p *ParkedRuns) End(ctx context.Context, id chat.RunID, room chat.RoomID, as answer.Status) error {
	return p.wake(ctx, id, room, as)
}

// Supersede ends a parked run because another one has taken its place. It does nothing for other runs, and fails with
// the error of the store.
func (p *ParkedRuns) Supersede(ctx context.Context, id chat.RunID, room chat.RoomID) error {
	return p.wake(ctx, id, room, answer.Superseded)
}

// StopAll stops the runs of room up to a turn, as End does: a later one may have been asked after the stop. It fails with the error of the store.
func (p *ParkedRuns) StopAll(ctx context.Context, room chat.RoomID, upTo chat.ResponseID) error {
	open, err := p.Store.OpenRuns(ctx, room)
	for _, r := range open {
		if err == nil && (r.Parked || r.Kind.Claims()) && r.Response <= upTo {
			err = p.wake(ctx, r.ID, room, answer.Stopped)
		}
	}
	return err
}

// wake wakes a run in the store, and the lane of its room in this process. Another process can be faster; that is why
// the store decides. It fails with the error of the store.
func (p *ParkedRuns) wake(ctx context.Context, id chat.RunID, room chat.RoomID, end answer.Status) error {
	err := p.Store.Wake(ctx, id, end)
	if errors.Is(err, answer.ErrLost) {
		return nil
	} else if err != nil {
		return fmt.Errorf("wake the run %s: %w", id, err)
	}
	p.Lanes.WakeRoom(room)
	return nil
}
