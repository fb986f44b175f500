package llm

import (
	"slices"
	"strings"
)

// Placeholders for gaps in a conversation.
const (
	cancelledResult = "Error: cancelled"
	silentResult    = "(It returned nothing.)"
	gap             = "…"
)

// NormalizeMessages returns turns in a form that every provider accepts: each call is followed immediately by exactly
// one result; there are no results without a call and no empty messages; assistant and other messages alternate, and
// the first and last are not from the assistant. A valid list without calls is returned itself.
func NormalizeMessages(turns []Message) []Message {
	if normal(turns) {
		return slices.Clip(turns)
	}
	out := make([]Message, 0, len(turns)+1)
	for i, t := range turns {
		switch {
		case t.Role == RoleTool: // handled with its call
		case strings.TrimSpace(t.Text) == "" && len(t.Calls) == 0 && len(t.Images) == 0:
		case t.Role == RoleAssistant:
			if len(out) == 0 {
				out = append(out, Message{Role: RoleUser, Text: gap})
			}
			if last := &out[len(out)-1]; last.Role == RoleAssistant { // it has no calls: otherwise their results would be last
				t.Text, t.Opaque = joined(last.Text, t.Text), nil // which fits one message only
				out = out[:len(out)-1]
			}
			t.Calls = dedupeCalls(t.Calls)
			out = append(out, t)
			out = append(out, resultsOf(t.Calls, turns[i+1:])...)
		default:
			out = append(out, t)
		}
	}
	if n := len(out); n == 0 || out[n-1].Role == RoleAssistant {
		out = append(out, Message{Role: RoleUser, Text: gap})
	}
	return out
}

// BeginWithUser returns turns with a first message that is not from the assistant, as [NormalizeMessages] does. An
// added message is written into the list of turns if there is room for one more, so the caller must own the list.
func BeginWithUser(turns []Message) []Message {
	if len(turns) > 0 && turns[0].Role == RoleAssistant {
		return slices.Insert(turns, 0, Message{Role: RoleUser, Text: gap})
	}
	return turns
}

// normal reports whether turns are valid and have no calls.
func normal(turns []Message) bool {
	before := RoleAssistant // as the first one can't be from the assistant either
	for _, t := range turns {
		if t.Role == RoleTool || len(t.Calls) > 0 || t.Role == RoleAssistant && before == RoleAssistant || strings.TrimSpace(t.Text) == "" && len(t.Images) == 0 {
			return false
		}
		before = t.Role
	}
	return before != RoleAssistant
}

// dedupeCalls keeps the first of several calls with the same id.
func dedupeCalls(calls []ToolCall) []ToolCall {
	if len(calls) < 2 {
		return calls
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(calls), func(c ToolCall) bool {
		again := seen[c.ID]
		seen[c.ID] = true
		return again
	})
}

// resultsOf returns the results of calls among the messages after them, up to the first message that is not a result.
func resultsOf(calls []ToolCall, after []Message) (results []Message) {
	for _, c := range calls {
		result := Message{Role: RoleTool, Call: c.ID, Text: cancelledResult}
		for _, t := range after {
			if t.Role != RoleTool {
				break
			}
			if t.Call == c.ID {
				if result = t; strings.TrimSpace(t.Text) == "" {
					result.Text = silentResult
				}
				break
			}
		}
		results = append(results, result)
	}
	return results
}

func joined(a, b string) string {
	if strings.TrimSpace(a) == "" {
		return b
	}
	if strings.TrimSpace(b) == "" {
		return a
	}
	return a + "\n\n" + b
}
