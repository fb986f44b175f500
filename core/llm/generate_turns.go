package llm

import (
	"slices"
	"strings"
)

// The texts that stand where a conversation has a gap.
const (
	cancelledResult = "Error: cancelled"
	silentResult    = "(It returned nothing.)"
	gap             = "…"
)

// NormalizeMessages is turns as every provider takes them (LM-09): each call has its result, right after it and once; no result is
// without a call, no turn without content; the assistant and the others take turns, beginning and ending with another
// than the assistant. What is right already stays as it is.
func NormalizeMessages(turns []Message) []Message {
	var out []Message
	for i, t := range turns {
		switch {
		case t.Role == RoleTool: // taken with its call
		case strings.TrimSpace(t.Text) == "" && len(t.Calls) == 0 && len(t.Images) == 0:
		case t.Role == RoleAssistant:
			if len(out) == 0 {
				out = append(out, Message{Role: RoleUser, Text: gap})
			}
			if last := &out[len(out)-1]; last.Role == RoleAssistant { // it has no calls: their results would be the last
				t.Text = joined(last.Text, t.Text)
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

// dedupeCalls leaves of calls with one id only the first.
func dedupeCalls(calls []ToolCall) []ToolCall {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(calls), func(c ToolCall) bool {
		again := seen[c.ID]
		seen[c.ID] = true
		return again
	})
}

// resultsOf finds the results of calls in what follows them, up to the next turn that is none.
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
