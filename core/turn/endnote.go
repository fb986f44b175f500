package turn

import (
	"errors"
	"fmt"

	"parley/core/answer"
	"parley/core/chat"
)

var (
	errTold    = errors.New("the answer is complete without a model")
	errCutOff  = errors.New("the process died while an action wrote") // the action may have happened, and is not repeated
	errUnshown = fmt.Errorf("the conversation no longer accepts messages: %w", chat.ErrStopped)
)

// Steps of text that no round of the model wrote come after all rounds.
const markStep = 1 << 20

// endNote returns the short text that tells people why an answer is not complete, after text or alone. It is stored with the answer, so
// that the next prompt tells the model, too.
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
