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
	// Show follows a until it has ended, and returns nil when its final state is shown or can't be: if that is before the end,
	// the turn is over. It calls note before it creates a message (no ID), when it has it, before each change or deletion of it
	// (again with its ID, which costs no write), and when it has taken it back or the platform has definitely refused to create it
	// (Gone); if note fails it changes nothing more and returns that error.
	// When ctx is done it lets a request under way end, and returns the cause. When users have removed the answer it shows
	// nothing more and returns [ErrRemoved]. When the end may not have arrived it returns [ErrUnconfirmed].
	Show(ctx context.Context, a *answer.Answer, note func(chat.Shown) error) error
}

// Opener opens the conversation of a run, with what the run has shown there already. A nil Surface means that nothing
// is posted there: users watch the answer itself. [chat.ErrUnreached] means that it can't be opened, now or later; any
// other error, that it is worth another try.
type Opener func(ctx context.Context, r chat.Run) (Surface, error)

// ErrRemoved is what a [Surface] returns when users have removed the answer: it ends, and counts as stopped.
var ErrRemoved = fmt.Errorf("a user removed the answer: %w", chat.ErrStopped)

// ErrUnconfirmed is what a [Surface] returns when users may not see the end of the answer: the platform failed each time it was
// sent, or for a day.
var ErrUnconfirmed = errors.New("the end of the answer may not have arrived")

// Questions completes the questions of answers, and carries out what is chosen. It is safe for concurrent use.
type Questions interface {
	// Complete checks and completes a question that is about to be asked. It fails if it can't be shown, or names no handler.
	Complete(q chat.Question) (chat.Question, error)
	// Text returns the text above the options of a question that was asked, or the error of the store.
	Text(ctx context.Context, q chat.Question) (string, error)
	// CarryOut gives a choice to its handler, once or again after a crash, and returns the text to show. It fails if the handler does.
	CarryOut(ctx context.Context, q chat.Question) (says string, err error)
}
