package turn

import (
	"context"
	"errors"
	"testing"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
)

// taken is a tracker whose rooms all belong to later turns.
type taken struct{ schedule.Tracker }

func (taken) Settle(context.Context, chat.AgentID, chat.RoomID, chat.ResponseID) error {
	return chat.ErrSuperseded
}

// A turn that has lost its room before its first message posts none, and ends.
func TestSupersededBeforeItsFirstMessage(t *testing.T) {
	work, quit := context.WithCancelCause(t.Context())
	at := &attempt{answer: &answer.Answer{}, life: t.Context(), work: work, quit: quit}
	j := (&Journals{Claims: &schedule.Claims{Tracker: taken{}}}).open(at, 0)
	if err := j.noteShown(chat.Shown{}); !errors.Is(err, chat.ErrSuperseded) || !errors.Is(context.Cause(work), chat.ErrSuperseded) {
		t.Errorf("the message: %v; the turn: %v; want both %v", err, context.Cause(work), chat.ErrSuperseded)
	}
}
