package generate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
)

// A fallback with less room for a prompt gets less of the conversation, but always the question, also after calls. One that has no room
// for the question is skipped, and the next one is asked. If none is left, the error is that of the model that failed.
func TestFallbackWithLessRoom(t *testing.T) {
	down := &llm.Failure{Kind: llm.ProviderIssue, Err: errors.New("down")}
	noon := []llm.Chunk{{Text: "It is noon."}, {Finish: llm.FinishStop}}
	filled := []llm.Chunk{{Text: "<response><text>It is noon.</text></response>"}, {Finish: llm.FinishStop}}
	calls := []llm.Chunk{{Call: &llm.CallDelta{ID: "c", Name: "LOOK", Parameters: "{}"}}, {Finish: llm.FinishCalls}}
	for name, c := range map[string]struct {
		mode   generate.Mode
		usual  [][]llm.Chunk // of the usual model, before it fails
		says   []llm.Chunk
		rooms  []int // of the fallbacks
		answer int   // which of the fallbacks answers
		err    error
	}{
		"natively":                {generate.Native, nil, noon, []int{1500}, 0, nil},
		"as a form":               {generate.XML, nil, filled, []int{3000}, 0, nil},
		"after a call":            {generate.Native, [][]llm.Chunk{calls}, noon, []int{2500}, 0, nil},
		"as much room":            {generate.Native, nil, noon, []int{0}, 0, nil},
		"one has none, natively":  {generate.Native, nil, noon, []int{20, 1500}, 1, nil},
		"one has none, as a form": {generate.XML, nil, filled, []int{200, 3000}, 1, nil},
		"none has any":            {generate.Native, nil, nil, []int{30, 20}, -1, down},
	} {
		t.Run(name, func(t *testing.T) {
			models := []llm.Named{{Name: "usual", Model: &script{err: down}, Fallback: []string{"0", "1"}}}
			if c.usual != nil {
				models[0].Model = &script{rounds: c.usual, err: down}
			}
			var fallbacks []*script
			for i, room := range c.rooms {
				l := &script{then: c.says}
				fallbacks = append(fallbacks, l)
				models = append(models, llm.Named{Name: fmt.Sprint(i), Model: l, Prompt: room})
			}
			a := new(answer.Answer)
			if err := writeTo(t, action.TurnContext{Private: true, Recent: conversation()}, models, a, c.mode, nil); !errors.Is(err, c.err) {
				t.Fatalf("it ends with %v", err)
			}
			for i, l := range fallbacks {
				switch {
				case i != c.answer && len(l.asked) > 0:
					t.Errorf("the fallback with room for %d is asked", c.rooms[i])
				case i == c.answer:
					wantShort(t, l.asked[0], c.rooms[i], c.mode == generate.Native)
				}
			}
			if got := a.View().Remembered().Text(); c.answer >= 0 && got != "It is noon." {
				t.Errorf("people read %q", got)
			}
		})
	}
}

// wantShort fails unless req has at most so many tokens, and natively the question and the end of the conversation. In the form, providers
// tell the conversation, of which there are none here.
func wantShort(t *testing.T, req llm.Request, room int, native bool) {
	t.Helper()
	all := req.System
	for _, m := range req.Messages {
		all += m.Text
	}
	if n := llm.EstimateTokens(req); room > 0 && n > room || native && n < room/2 {
		t.Errorf("the prompt has %d tokens; there is room for %d", n, room)
	}
	if native && (!strings.Contains(all, "What is the time?") || !strings.Contains(all, "Message 59.") || strings.Contains(all, "Message 0.") != (room == 0)) {
		t.Errorf("the prompt is %.2000q", all)
	}
}

// conversation is long, and its last message is not answered yet.
func conversation() (all []chat.Memory) {
	for i := range 60 {
		all = append(all, chat.Memory{ID: chat.MemoryID(fmt.Sprint(i)), Author: "ada", Text: fmt.Sprintf("Message %d. ", i) + strings.Repeat("And so on. ", 25)})
	}
	return all
}
