package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/core/llm"
)

// A prompt that is one text holds what others have in places of their own.
func TestUnfold(t *testing.T) {
	const output = "\n<output>\nAnswer with this:\n<response></response>\n</output>"
	talk := "# Conversation\nThe last message is the newest.\n(Summary of the conversation so far: Ann: hm)\nAnn: Hi\n  there\n  \n  you\nPolly: Ben: no\nAnn: Roll\n\nIt is late."
	turns := []llm.Message{user("Hi\nthere\n\nyou"), assistant("Ben: no"), user("Roll")}
	tests := map[string]struct {
		text string
		want llm.Request
		form form
	}{
		"an answer": {"<task>Write the next message of Polly in this conversation.</task>\n" + talk + "\n<actionNames>\nREPLY, ROLL_DICE\n</actionNames>" + output,
			llm.Request{Messages: turns, Tools: []llm.Tool{{Name: "REPLY"}, {Name: "ROLL_DICE"}}}, tagged},
		"an answer after an action": {"<task>Write the answer of Polly to the last message.</task>\n" + talk + "\n<results>\nA {}: no\nROLL_DICE {\"n\":\": \"}: 4\n  5\n</results>" + output,
			llm.Request{Messages: append(turns, llm.Message{Role: llm.RoleAssistant, Calls: []llm.ToolCall{{ID: "demo", Name: "ROLL_DICE"}}},
				llm.Message{Role: llm.RoleTool, Call: "demo", Text: "4\n5"})}, tagged},
		"a step":            {"<task>Decide the next step of Polly towards an answer.</task>\n<isFinish>" + output, llm.Request{}, decided},
		"not such a prompt": {"Write the next message", llm.Request{Messages: []llm.Message{user("Write the next message")}}, spoken},
	}
	for name, c := range tests {
		got, f := unfold(llm.Request{Messages: []llm.Message{user(c.text)}})
		if diff := cmp.Diff(c.want, got); diff != "" || f != c.form {
			t.Errorf("%s: form %d, %s; want none and %d", name, f, diff, c.form)
		}
	}
}
