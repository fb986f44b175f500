package turn

import (
	"context"
	"sync"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/schedule"
)

// attempt is this process's work on one run, from its start to its end or until the process loses it. It holds the data
// that all parts of an execution share. It is used by one goroutine, except for the contexts and the answer, which are
// safe for concurrent use.
type attempt struct {
	run    chat.Run
	info   event.RunInfo
	answer *answer.Answer
	life   context.Context         //nolint:containedctx // of the process
	work   context.Context         //nolint:containedctx // of the turn: ends when a later one takes the room, on stop, and at the limit
	quit   context.CancelCauseFunc // ends work; its cause becomes the end of the answer
	posts  bool                    // the answer is shown in messages of its own; otherwise users watch it as a stream
	turn   action.TurnContext      // the context of the turn, once it is read
	place  *schedule.Place         // its share of the limits on parallel answers
	reason string                  // why there is no whole answer, see [answer.Outcome]
	waits  []chat.Run              // the runs of the room that wait for an approval
	side   sync.WaitGroup          // goroutines that run concurrently with the turn: publishing, open questions; each ends with life
}

// unattended reports whether no user asked for the run: a schedule or a hook did.
func (at *attempt) unattended() bool { return at.run.Address.BilledTo.Automatic() }

// reopened reports whether the run has started before, and nothing of that counts: its question was edited, or it was parked.
func (at *attempt) reopened() bool {
	return at.run.Epoch > 1 && at.run.Attempts == 0 && at.run.Deaths == 0
}

// asked returns when the user asked for this attempt: for the answer to an edited question that is its start.
func (at *attempt) asked() time.Time {
	if at.reopened() && at.run.Retried == 0 && !at.run.Lasting { // it was not parked
		return at.info.Start
	}
	return at.run.Opened
}

// closeOptions removes the options of q. If a user chose one, it stays visible where the platform can show it.
func (at *attempt) closeOptions(q chat.Question) {
	c := answer.Change{Kind: answer.ChoicesChanged}
	if q.By != "" {
		c.Chosen = q.Choices()
	}
	at.answer.Apply(c)
}

// say adds a text to the answer.
func (at *attempt) say(text string) {
	at.answer.Apply(answer.Change{Kind: answer.Text, Text: text})
}
