package intake

import (
	"context"
	"strconv"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
)

// busyStore has open runs of one user in groups without end.
type busyStore struct{ StopStore }

func (busyStore) RunsSince(_ context.Context, _ time.Time, _ chat.RunState, limit int) (runs []chat.Run, _ error) {
	for i := range limit {
		runs = append(runs, chat.Run{Room: chat.RoomID(strconv.Itoa(i)), RoomKind: chat.Group, Author: "ada", Held: true})
	}
	return runs, nil
}

// noRuns has no runs that can be stopped.
type noRuns struct{ schedule.ParkedRunStore }

func (noRuns) Wake(context.Context, chat.RunID, answer.Status) error { return answer.ErrLost }

// stops counts turns that are stopped.
type stops struct {
	schedule.Tracker
	n int
}

func (s *stops) Stop(context.Context, chat.AgentID, chat.RoomID, chat.ResponseID) error {
	s.n++
	return nil
}

// The work for one user who is blocked has an end, however many answers are in progress.
func TestStopOfIsBounded(t *testing.T) {
	tracker := &stops{}
	s := &Stopper{Store: busyStore{}, Claims: &schedule.Claims{Tracker: tracker}, Parked: &schedule.ParkedRuns{Store: noRuns{}}}
	if err := s.StopOf(t.Context(), "ada"); err != nil || tracker.n != 10_000 {
		t.Errorf("%d turns were stopped, %v; want 10000", tracker.n, err)
	}
}
