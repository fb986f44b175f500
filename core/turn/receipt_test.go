package turn

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
)

// receipts is a store with one run.
type receipts struct {
	run       chat.Run
	said      chat.Memory
	approvals []chat.Approval
	used      []quota.Total
}

func (s receipts) Run(_ context.Context, id chat.RunID) (chat.Run, error) {
	if id != s.run.ID {
		return chat.Run{}, chat.ErrNotFound
	}
	return s.run, nil
}

func (s receipts) Memory(context.Context, chat.MemoryID) (chat.Memory, error) {
	if s.said.ID == "" {
		return chat.Memory{}, chat.ErrNotFound
	}
	return s.said, nil
}

func (s receipts) RecentApprovals(context.Context, chat.RoomID, int) ([]chat.Approval, error) {
	return s.approvals, nil
}

func (s receipts) Used(context.Context, string, string, ...string) ([]quota.Total, error) {
	return s.used, nil
}

// The receipt of an answer names everything that happened, and nothing that was said.
func TestReceipt(t *testing.T) {
	opened := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	run := chat.Run{ID: "fake/1#2", Room: "fake/1", Author: "fake/7", Inputs: []chat.MemoryID{"a", "b"}, Opened: opened, Attempts: 2, Deaths: 1}
	done := run
	done.Shown = []chat.Shown{{ID: "1", At: opened.Add(1200 * time.Millisecond)}, {Part: 1, ID: "2"}}
	done.Outcome = answer.Outcome{
		Status: answer.Failed, Failure: llm.ProviderIssue, Usage: &llm.UsageSum{Calls: 4, Prompt: 900, Completion: 80, Provider: "openai", Model: "m"},
		Effort: answer.Effort{Rounds: 3, Failovers: 1, Sources: "TIME, RECALLED", Edits: 9, Holds: 2},
	}
	end := func(name string, success bool, took time.Duration) answer.PastCall {
		return answer.PastCall{Tool: answer.Tool{Name: name, Stage: answer.StageEnd, Success: success, Parameters: "secret"}, Took: took}
	}
	full := receipts{
		run: done, approvals: []chat.Approval{{Run: run.ID, Tool: "ORDER", Decision: "approved"}, {Run: "fake/1#1", Tool: "WIPE"}},
		said: chat.Memory{ID: "fake/1#2", Text: "secret", At: opened.Add(9 * time.Second), Calls: []answer.PastCall{
			end("LIST", true, 310*time.Millisecond), end("ORDER", false, 2*time.Second), end("WIPE", false, 0), end("OLD", true, 0),
		}},
	}
	for name, c := range map[string]struct {
		store receipts
		want  string
	}{
		"of an answer with everything": {full, "Answer `fake/1#2`: failed: provider_issue\n" +
			"- Asked: 2026-03-04 05:06:07 UTC by `fake/7`; messages: 2\n" +
			"- First message: after 1.2s\n" +
			"- Last word: after 9s\n" +
			"- Context: TIME, RECALLED\n" +
			"- Model: openai/m; calls: 4; rounds: 3; failovers: 1; tokens: 900 in, 80 out\n" +
			"- Tool: `LIST`, done after 310ms\n" +
			"- Tool: `ORDER`, failed after 2s\n" +
			"- Tool: `WIPE`, not made\n" +
			"- Tool: `OLD`, done\n" +
			"- Approval: `ORDER`, approved\n" +
			"- Messages: 2; edits: 9; holds: 2; attempts: 2; crashes: 1"},
		"of one that has not ended": {receipts{run: run}, "Answer `fake/1#2`: waiting\n" +
			"- Asked: 2026-03-04 05:06:07 UTC by `fake/7`; messages: 2\n" +
			"- Messages: 0; edits: 0; holds: 0; attempts: 2; crashes: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := ReceiptOf(t.Context(), c.store, run.ID); err != nil || r.String() != c.want {
				t.Errorf("%v\n%s\nwant\n%s", err, r, c.want)
			}
		})
	}
	if _, err := ReceiptOf(t.Context(), full, "other"); !errors.Is(err, chat.ErrNotFound) {
		t.Errorf("an unknown run: %v", err)
	}
}
