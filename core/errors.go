package core

import (
	"errors"

	"parley/core/chat"
	"parley/core/llm"
)

// failureKind sorts any error for people.
func failureKind(err error) llm.FailureKind {
	var f *llm.Failure
	switch {
	case errors.As(err, &f):
		return f.Kind
	case errors.Is(err, llm.ErrStalled), errors.Is(err, chat.ErrTimeout):
		return llm.GenerationTimeout
	}
	return llm.ProviderIssue
}
