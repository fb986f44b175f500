package turn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/require"
)

// receipts is a store with one run.
type receipts struct {
	run       chat.Run
	said      chat.Memory
	approvals []chat.Approval
	used      []quota.Total
	memories  []chat.Memory
	facts     []chat.RoomNote
}

func (s receipts) Run(_ context.Context, id chat.RunID) (chat.Run, error) {
	if id != s.run.ID {
		return chat.Run{}, chat.ErrNotFound
	}
	return s.run, nil
}

func (s receipts) Memory(_ context.Context, id chat.MemoryID) (chat.Memory, error) {
	all := append([]chat.Memory{s.said}, s.memories...)
	if i := slices.IndexFunc(all, func(m chat.Memory) bool { return m.ID == id }); i >= 0 {
		return all[i], nil
	}
	return chat.Memory{}, chat.ErrNotFound
}

func (s receipts) Recent(context.Context, chat.RoomID, chat.MemoryKind, chat.ResponseID, int) ([]chat.Memory, error) {
	return append(slices.DeleteFunc(slices.Clone(s.memories), func(m chat.Memory) bool { return m.Room != s.run.Room }), s.said), nil
}

func (s receipts) Notes(_ context.Context, _ chat.RoomID, kind chat.NoteKind, _ int) ([]chat.RoomNote, error) {
	return slices.DeleteFunc(slices.Clone(s.facts), func(n chat.RoomNote) bool { return n.Kind != kind }), nil
}

func (s receipts) NotesAbout(ctx context.Context, _ chat.EntityID, kind chat.NoteKind, _ bool, limit int) ([]chat.RoomNote, error) {
	return s.Notes(ctx, "", kind, limit)
}

func (s receipts) RecentApprovals(context.Context, chat.RoomID, int) ([]chat.Approval, error) {
	return s.approvals, nil
}

func (s receipts) Used(context.Context, string, string, ...string) ([]quota.Total, error) {
	return s.used, nil
}

// The prompt of an answer consists of what is still stored of it. Recalled messages of other chats are for their author alone.
func TestReceiptReadsThePrompt(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 4, 5, minute, 0, 0, time.UTC) }
	message := func(room chat.RoomID, id string, minute int) chat.Memory {
		return chat.Memory{ID: chat.MemoryID(id), Room: room, Author: "fake/7", Name: "Ada", Text: "text of " + id + "\nand\x1b more", At: at(minute)}
	}
	s := receipts{
		run:      chat.Run{ID: "fake/1#9", Room: "fake/1", RoomKind: chat.Direct, Author: "fake/7"},
		memories: []chat.Memory{message("fake/1", "here", 1), message("fake/2", "elsewhere", 2), message("fake/1", "before", 3), message("fake/1", "asked", 5)},
		said:     chat.Memory{ID: "fake/1#9", Room: "fake/1", Text: "the answer", At: at(6)},
		facts:    []chat.RoomNote{{Kind: chat.FactNote, Text: "Ada has a cat", At: at(0)}, {Kind: chat.FactNote, Text: "noted later", At: at(7)}},
	}
	s.run.Outcome.Status = answer.Completed
	s.run.Outcome.Prompt = &answer.Prompt{Instructions: "1x", Since: at(3), Recalled: []string{"here", "elsewhere", "forgotten"}, Facts: []time.Time{at(0), at(1)}}
	r := require.Value(ReceiptOf(t.Context(), s, "fake/1#9"))(t)
	_, got, _ := strings.Cut(r.Whole(), "crashes: 0\n")
	const want = `- Instructions: 1x
- Fact: Ada has a cat
- Recalled, Ada, 2026-03-04 05:01:00 UTC: text of here
  and more
- Recalled, Ada, 2026-03-04 05:02:00 UTC: text of elsewhere
  and more
- Recalled: (deleted)
- Conversation, Ada, 2026-03-04 05:03:00 UTC: text of before
  and more
- Conversation, Ada, 2026-03-04 05:05:00 UTC: text of asked
  and more`
	if got != want {
		t.Errorf("the prompt is\n%s", got)
	}
	const here = "\n- Recalled: Ada, 2026-03-04 05꞉01꞉00 UTC: text of here and more"
	if got := r.recalled("fake/owner"); got != here {
		t.Errorf("an owner reads %q", got)
	}
	if got := r.recalled("fake/7"); !strings.HasPrefix(got, here+"\n") || !strings.Contains(got, "text of elsewhere") {
		t.Errorf("the user reads %q", got)
	}
	r.Run.RoomKind = chat.Group
	if got := r.recalled("fake/7"); got != here {
		t.Errorf("in a group the user reads %q", got)
	}
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
