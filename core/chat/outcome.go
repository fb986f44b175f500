package chat

import (
	"errors"

	"parley/core/answer"
	"parley/core/llm"
)

// StatusOf returns how a run ends whose work ended with err.
func StatusOf(err error) answer.Status {
	switch {
	case err == nil:
		return answer.Completed
	case errors.Is(err, ErrNothingToSay):
		return answer.Ignored
	case errors.Is(err, ErrSuperseded):
		return answer.Superseded
	case errors.Is(err, ErrStopped):
		return answer.Stopped
	case errors.Is(err, ErrTimeout):
		return answer.TimedOut
	}
	return answer.Failed
}

// FailureOf returns the kind of failure that err is to users.
func FailureOf(err error) llm.FailureKind {
	var f *llm.Failure
	switch {
	case errors.As(err, &f):
		return f.Kind
	case errors.Is(err, llm.ErrStalled), errors.Is(err, ErrTimeout):
		return llm.GenerationTimeout
	}
	return llm.ProviderIssue
}

// Unless returns err, or nil if it is the expected one.
func Unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
