package core

import (
	"errors"
	"fmt"

	"parley/core/answer"
	"parley/core/chat"
)

var (
	errTold    = errors.New("the user was told why not") // the answer is complete, without the model
	errCutOff  = errors.New("the process died while an action wrote")
	errUnshown = fmt.Errorf("the conversation no longer accepts messages: %w", chat.ErrStopped)
)

// ErrRemoved is what a [Surface] returns when people have removed the answer: it ends, and counts as stopped.
var ErrRemoved = fmt.Errorf("a user removed the answer: %w", chat.ErrStopped)

// Steps of text that no round of the model wrote come after all rounds.
const markStep = 1 << 20

// endNote is the short text that tells people why an answer is not whole, after text or alone. It is part of what is
// stored, so that the next prompt tells the model too.
func endNote(o answer.Outcome, err error, alone bool) string {
	sentence := ""
	switch {
	case errors.Is(err, errCutOff):
		sentence = "Interrupted by a restart. The action in progress was not repeated."
	case o.Status == answer.Stopped:
		sentence = "Stopped."
	case o.Status == answer.Superseded:
		sentence = "Interrupted by a newer message."
	case o.Failure != "":
		sentence = o.Failure.Sentence()
	}
	if sentence == "" || alone {
		return sentence
	}
	return "_(" + sentence + ")_"
}
