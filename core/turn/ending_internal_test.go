package turn

import (
	"errors"
	"testing"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
)

// A mark says why, in brackets after text and plainly alone; what is whole has none.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		o    answer.Outcome
		err  error
		want string
	}{
		{answer.Outcome{Status: answer.Completed}, nil, ""},
		{answer.Outcome{Status: answer.Ignored}, chat.ErrNothingToSay, ""},
		{answer.Outcome{Status: answer.Stopped}, chat.ErrStopped, "Stopped."},
		{answer.Outcome{Status: answer.Superseded}, chat.ErrSuperseded, "Interrupted by a newer message."},
		{answer.Outcome{Status: answer.Failed, Failure: llm.RateLimited}, errors.New("429"), llm.RateLimited.Sentence(lang.Voice{})},
		{answer.Outcome{Status: answer.TimedOut, Failure: llm.GenerationTimeout}, chat.ErrTimeout, llm.GenerationTimeout.Sentence(lang.Voice{})},
		{answer.Outcome{Status: answer.Failed, Failure: llm.ProviderIssue}, errCutOff, "Interrupted by a restart. The action in progress was not repeated."},
	} {
		if got := endNote(t.Context(), c.o, c.err, true); got != c.want {
			t.Errorf("%v alone: %q; want %q", c.o, got, c.want)
		}
		if c.want != "" {
			c.want = "_(" + c.want + ")_"
		}
		if got := endNote(t.Context(), c.o, c.err, false); got != c.want {
			t.Errorf("%v after text: %q; want %q", c.o, got, c.want)
		}
	}
}
