package turn

import (
	"context"
	"errors"
	"fmt"

	"parley/core/answer"
	"parley/core/chat"
)

// Surface shows an answer in one conversation.
type Surface interface {
	// Show shows a until it has ended, and returns nil when its final state is shown or can't be: if that is before the
	// end, the turn is over. It calls note
	//
	//  - before it creates a message (without an ID), and when it has the ID,
	//  - before each change or deletion of a message (again with its ID, which costs no write),
	//  - when it has deleted a message, or the platform has definitely refused to create it (Gone).
	//
	// If note fails, it changes nothing more and returns that error. When ctx is done it completes a request in
	// progress, and returns the cause. It fails with [ErrRemoved] when users have removed the answer, and shows nothing
	// more, and with [ErrUnconfirmed] when the end may not have arrived.
	Show(ctx context.Context, a *answer.Answer, note func(chat.Shown) error) error
}

// Opener opens the conversation of a run, with the messages that the run has posted there. A nil Surface means that
// nothing is posted there: users watch the answer itself. It fails with [chat.ErrUnreached] if the conversation can't
// be opened, now or later; after any other error, another attempt is worthwhile.
type Opener func(ctx context.Context, r chat.Run) (Surface, error)

// ErrRemoved is the error of a [Surface] when users have removed the answer: it ends, and counts as stopped.
var ErrRemoved = fmt.Errorf("a user removed the answer: %w", chat.ErrStopped)

// ErrUnconfirmed is the error of a [Surface] when users may not see the end of the answer: the platform failed each
// time it was sent, or for a day.
var ErrUnconfirmed = errors.New("the end of the answer may not have arrived")

// Questions completes the questions of answers, and runs the handlers of choices. It is safe for concurrent use.
type Questions interface {
	// Complete checks and completes a question that is about to be asked. It fails if it can't be shown, or names no handler.
	Complete(q chat.Question) (chat.Question, error)
	// Text returns the text above the options of a question that was asked, or the error of the store.
	Text(ctx context.Context, q chat.Question) (string, error)
	// RetireClosed removes the options of a run whose question was closed without a choice, or shows the result of one of the handler again. It
	// fails with the error of the store.
	RetireClosed(ctx context.Context, run chat.RunID, again string) error
	// CarryOut passes a choice, or a question that was closed without one, to its handler, once or again after a crash, and returns the
	// text to show; refused reports that the choice has no effect. It fails if the handler does.
	CarryOut(ctx context.Context, q chat.Question) (says string, refused bool, err error)
}
