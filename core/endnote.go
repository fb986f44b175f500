package core

import (
	"errors"
	"fmt"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

var (
	errTold    = errors.New("the answer is complete without a model")
	errCutOff  = errors.New("the process died while an action wrote") // the action may have happened, and is not repeated
	errUnshown = fmt.Errorf("the conversation no longer accepts messages: %w", chat.ErrStopped)
)

// ErrRemoved is what a [Surface] returns when people have removed the answer: it ends, and counts as stopped.
var ErrRemoved = fmt.Errorf("a user removed the answer: %w", chat.ErrStopped)

// ErrUnconfirmed is what a [Surface] returns when people may not see the end of the answer: the platform failed each time it was
// sent, or for a day.
var ErrUnconfirmed = errors.New("the end of the answer may not have arrived")

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

// filesOf returns the files that a call has shown, for a process that shows the end of another one's answer. Files that have
// expired are left out.
func (x *execution) filesOf(c answer.PastCall) (all []llm.File) {
	for _, f := range c.Files {
		b, err := x.store.File(x.life, x.run.ID, f.N)
		if err == nil {
			all = append(all, b)
		} else if !errors.Is(err, chat.ErrNotFound) {
			x.rt.cfg.Log.Warn("a file can't be restored", "run", x.run.ID, "err", err)
		}
	}
	return all
}
