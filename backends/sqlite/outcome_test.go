package sqlite

import (
	"testing"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

// A process of an earlier version, beside or instead of this one, reopens a run and ends it without its usage: that of the earlier end does not
// count for the later one.
func TestUsageOfAnEarlierEnd(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	m := chat.Message{Memory: chat.Memory{ID: "m", Room: "room"}, Place: chat.Room{ID: "room"}}
	acc, err := s.Accept(t.Context(), m, chat.JoinRule{Kind: chat.RunReply})
	require.NoError(t, err)
	usage := llm.UsageSum{Calls: 1}
	require.NoError(t, s.Finish(t.Context(), acc.Run, 0, answer.Outcome{Status: answer.Completed, Usage: &usage}, chat.Memory{}))
	for _, want := range []bool{true, false} {
		run, err := s.Run(t.Context(), acc.Run)
		if err != nil || (run.Outcome.Usage != nil) != want {
			t.Errorf("its usage is %v, %v; want one: %v", run.Outcome.Usage, err, want)
		}
		if _, err := s.writer.ExecContext(t.Context(), `UPDATE runs SET epoch = epoch + 1`); err != nil {
			t.Fatal(err)
		}
	}
}
