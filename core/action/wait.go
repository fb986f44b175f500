package action

import (
	"context"
	"errors"
	"time"

	"parley/core/chat"
)

// Wait is what a run is parked for.
type Wait struct {
	For   string    // identifies it among all that runs wait for
	Until time.Time // when the run goes on without it
	// Lasting has later messages answered beside the run. Otherwise they end it where they supersede answers.
	Lasting bool
	// Ask is asked below the answer until then; a choice wakes the run. It can be nil: then others wake it. Its Chooser,
	// Payload and Expires are set by the run. Without For, only the author of the message can choose.
	Ask *chat.Question
}

// Park shows text as the output of this call, and has the whole run wait for a person, without its room: it always fails, with
// [chat.ErrParked], which the caller returns at once. The run goes on, in whatever process, when it is woken: the call is then made again
// from its beginning, so nothing with effects may come before Park, and what has come of the waiting must be found in the store. Park
// fails with [chat.ErrUnseen] if the platform can't show the question, and with the cause of ctx.
func (c *Call) Park(ctx context.Context, text string, w Wait) error {
	if c.park == nil {
		return errors.New("this run can't wait")
	}
	c.Update(text)
	return c.park(ctx, w)
}

// Chose returns the question that this run has waited for, if a choice was made.
func (c *Call) Chose(ctx context.Context, waitedFor string) (q chat.Question, ok bool, err error) {
	if c.chose == nil {
		return q, false, nil
	}
	return c.chose(ctx, waitedFor)
}

// Waited reports whether this run was parked for waitedFor last. It goes on because of a choice, see [Call.Chose], or because the time is
// over.
func (c *Call) Waited(waitedFor string) bool { return c.waited != nil && c.waited(waitedFor) }
