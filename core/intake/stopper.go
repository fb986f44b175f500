package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/relay"
	"parley/core/schedule"
)

// StopStore contains the store methods of [Stopper].
type StopStore interface {
	RunsSince(ctx context.Context, since time.Time, state chat.RunState, limit int) ([]chat.Run, error)
	Finish(ctx context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error
	OpenQuestions(ctx context.Context, room chat.RoomID) ([]chat.Question, error)
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
}

// Stopper ends turns of rooms. Its fields are set before use. It is safe for concurrent use.
type Stopper struct {
	Store     StopStore
	Questions *Questions
	Claims    *schedule.Claims
	Parked    *schedule.ParkedRuns
	Lanes     *schedule.Lanes
	Live      *relay.Registry
	Signals   *schedule.Signals
}

// Stop ends every turn of room up to upTo, on all replicas, including waiting ones, and closes their questions. If the
// store or the tracker can't be reached, it still ends the turns of this process, and fails, so that the caller repeats
// the rest.
func (s *Stopper) Stop(ctx context.Context, room chat.RoomID, upTo chat.ResponseID) (err error) {
	defer func() {
		if err != nil {
			s.stopHere(room)
			err = fmt.Errorf("stop %s: %w", room, err)
		}
	}()
	asked, err := s.Store.OpenQuestions(ctx, room)
	if err != nil {
		return err
	}
	// Turns end before their questions are closed: a turn that waits for a choice then ends as stopped, and not as unanswered.
	if err := s.stopTurns(ctx, room, upTo); err != nil {
		return err
	}
	for _, q := range asked {
		run, err := s.Store.Run(ctx, q.Run)
		if err == nil && run.Response <= upTo {
			err = s.Questions.retire(ctx, q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// StopOf ends the answers in progress to accounts, on all replicas, among the newest open runs. A group's answers to others continue. It
// fails with the error of the store or the tracker.
func (s *Stopper) StopOf(ctx context.Context, accounts ...chat.EntityID) error {
	open, err := s.Store.RunsSince(ctx, time.Time{}, chat.OpenRuns, 10_000)
	for _, r := range open {
		switch {
		case !slices.Contains(accounts, r.Author):
		case r.RoomKind.Private():
			err = errors.Join(err, s.Stop(ctx, r.Room, r.Response))
		default:
			err = errors.Join(err, s.stopRun(ctx, r))
		}
	}
	return err
}

// stopAnswer ends the answer to a message, on all replicas. It does nothing if that has ended, and fails with the error of the store or
// the tracker.
func (s *Stopper) stopAnswer(ctx context.Context, room chat.RoomID, question chat.MemoryID) error {
	open, err := s.Store.OpenRuns(ctx, room)
	for _, r := range open {
		if r.Address.ReplyTo == question || slices.Contains(r.Inputs, question) {
			err = errors.Join(err, s.stopRun(ctx, r))
		}
	}
	return err
}

// stopRun ends one turn, on all replicas. Later ones continue. It fails with the error of the store or the tracker.
func (s *Stopper) stopRun(ctx context.Context, r chat.Run) error {
	if r.Held || r.Epoch > 0 && !r.Parked { // also one whose process has crashed
		if err := s.Claims.Stop(ctx, r.Claim(), r.Turn()); err != nil {
			return err
		}
	}
	return s.Parked.End(ctx, r.ID, r.Room, answer.Stopped)
}

// stopHere ends the turns of room that this process executes, without the store or the tracker.
func (s *Stopper) stopHere(room chat.RoomID) { s.Live.Stop(room) }

func (s *Stopper) stopTurns(ctx context.Context, room chat.RoomID, upTo chat.ResponseID) error {
	open, err := s.Store.OpenRuns(ctx, room)
	open = slices.DeleteFunc(open, func(r chat.Run) bool { return r.Response > upTo })
	if err != nil || len(open) == 0 {
		return err
	}
	defer s.Lanes.WakeRoom(room)
	for claim, last := range schedule.LastTurns(open) {
		if err := s.Claims.Stop(ctx, claim, last); err != nil {
			return err
		}
	}
	if err := s.dropWaiting(ctx, open); err != nil {
		return err
	}
	return s.Parked.StopAll(ctx, room, upTo)
}

// dropWaiting ends the turns among open that have not started. Later messages would otherwise join them, and never be
// answered, because a stopped turn answers nothing. It fails with the error of the store.
func (s *Stopper) dropWaiting(ctx context.Context, open []chat.Run) error {
	for _, r := range open {
		if r.Epoch > 0 || !r.Kind.Claims() || r.Kind == chat.RunRespond { // the last must end visibly, so it starts, and stops
			continue
		}
		err := s.Store.Finish(ctx, r.ID, r.Epoch, answer.Outcome{Status: answer.Stopped, Withdrawn: true}, chat.Memory{})
		if chat.Unless(err, answer.ErrLost) != nil { // lost: it was started meanwhile, and ends by the tracker
			return err
		}
		s.Signals.Dropped(r)
	}
	return nil
}
