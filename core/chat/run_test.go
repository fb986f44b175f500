package chat_test

import (
	"errors"
	"fmt"
	"testing"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want answer.Status
	}{
		{nil, answer.Completed}, {chat.ErrNothingToSay, answer.Ignored}, {chat.ErrSuperseded, answer.Superseded}, {chat.ErrStopped, answer.Stopped}, {chat.ErrTimeout, answer.TimedOut},
		{llm.ErrStalled, answer.Failed}, {errors.New("any"), answer.Failed}, {fmt.Errorf("wrapped: %w", chat.ErrStopped), answer.Stopped},
	} {
		if got := chat.StatusOf(c.err); got != c.want {
			t.Errorf("%v: %s; want %s", c.err, got, c.want)
		}
	}
}

func TestFailureOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want llm.FailureKind
	}{
		{fmt.Errorf("ask: %w", &llm.Failure{Kind: llm.RateLimited, Err: chat.ErrTimeout}), llm.RateLimited},
		{llm.ErrStalled, llm.GenerationTimeout}, {fmt.Errorf("wrapped: %w", chat.ErrTimeout), llm.GenerationTimeout}, {errors.New("any"), llm.ProviderIssue},
	} {
		if got := chat.FailureOf(c.err); got != c.want {
			t.Errorf("%v: %s; want %s", c.err, got, c.want)
		}
	}
}
