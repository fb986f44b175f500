package generate_test

import (
	"strings"
	"testing"

	"parley/core/answer"
	"parley/core/generate"
	"parley/core/llm"
	"parley/internal/require"
)

// Reasoning is shown as the model's setting says, and is never part of the text, whether it comes in a field of its own or in tags.
func TestThinking(t *testing.T) {
	field := []llm.Chunk{{Alive: true}, {Alive: true, Reasoning: "I count"}, {Reasoning: " to 3."}, {Text: "It is 3."}, {Finish: llm.FinishStop}, {Alive: true, Reasoning: "late"}}
	tags := []llm.Chunk{{Text: "<think>I count"}, {Text: " to 3.</think>It is 3."}, {Finish: llm.FinishStop}}
	form := []llm.Chunk{{Text: "<response><thought>I count to 3.</thought><text>It is 3.</text></response>"}, {Finish: llm.FinishStop}}
	for name, c := range map[string]struct {
		mode      generate.Mode
		chunks    []llm.Chunk
		how       llm.Thinking
		kinds     string
		reasoning string
	}{
		"by default":    {generate.Native, field, "", "thinking text", ""},
		"status":        {generate.Native, field, llm.ThinkingStatus, "thinking text", ""},
		"status, tags":  {generate.Native, tags, llm.ThinkingStatus, "thinking text", ""},
		"off":           {generate.Native, field, llm.ThinkingOff, "text", ""},
		"off, tags":     {generate.Native, tags, llm.ThinkingOff, "text", ""},
		"full":          {generate.Native, field, llm.ThinkingFull, "thinking reasoning text", "I count to 3."},
		"full, tags":    {generate.Native, tags, llm.ThinkingFull, "thinking reasoning text", "I count to 3."},
		"full, a form":  {generate.XML, form, llm.ThinkingFull, "text", ""},
		"full, endless": {generate.Native, []llm.Chunk{{Reasoning: strings.Repeat("x", 1<<20)}, {Text: "It is 3."}, {Finish: llm.FinishStop}}, llm.ThinkingFull, "thinking reasoning text", strings.Repeat("x", 256<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			model, a := &script{rounds: [][]llm.Chunk{c.chunks}}, new(answer.Answer)
			require.NoError(t, write(t, []llm.Named{{Name: "a", Model: model, Thinking: c.how}}, a, c.mode))
			changes, _ := a.Since(0)
			var kinds []string
			reasoning := ""
			for _, change := range changes {
				kinds = append(kinds, string(change.Kind))
				if change.Kind == answer.Reasoning {
					reasoning += change.Text
				}
			}
			v := a.View()
			if got := strings.Join(kinds, " "); got != c.kinds || reasoning != c.reasoning || v.Text() != "It is 3." || len(v.Segments) != 1 || v.Thinking {
				t.Errorf("%s; %.40q, %+v", got, reasoning, v)
			}
			if readable := model.asked[0].Readable; readable != (c.how == llm.ThinkingFull) {
				t.Errorf("reasoning as text is asked for: %t; want %t", readable, !readable)
			}
		})
	}
}
