package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/core/llm"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/models/wire"
)

// TestRequest: a whole conversation, as the server sees it.
func TestRequest(t *testing.T) {
	warm := 0.5
	fake := playing(modelfake.Text("ok"))
	m := over(t, fake, func(o *Options) { o.MaxTokens, o.Temperature = 300, &warm })
	_, err := collect(t.Context(), m, llm.Request{
		System: "Be kind.",
		Messages: []llm.Message{
			{Role: llm.RoleUser, Text: "What time is it in <b>Rome</b>?"},
			{Role: llm.RoleAssistant, Calls: []llm.ToolCall{
				{ID: "a", Name: "time.now", Parameters: json.RawMessage(`{"city":"Rome"}`)},
				{ID: "b", Name: "CLOCK", Parameters: json.RawMessage(`{"cut`)},
			}},
			{Role: llm.RoleTool, Call: "a", Text: "noon"},
			{Role: llm.RoleTool, Call: "b", Text: "the parameters were cut"},
			{Role: llm.RoleAssistant},
			{Role: llm.RoleAssistant, Text: "Noon."},
			{Role: llm.RoleUser, Text: "Thanks"},
			{Role: llm.RoleUser, Text: "Bye"},
		},
		Tools: []llm.Tool{
			{Name: "time.now", Description: "tells the time", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
			{Name: "CLOCK"},
		},
	})
	require.NoError(t, err)
	want := `{
		"model": "fake-model", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 300, "temperature": 0.5,
		"messages": [
			{"role": "system", "content": "Be kind."},
			{"role": "user", "content": "What time is it in <b>Rome</b>?"},
			{"role": "assistant", "tool_calls": [
				{"id": "a", "type": "function", "function": {"name": "time_now", "arguments": "{\"city\":\"Rome\"}"}},
				{"id": "b", "type": "function", "function": {"name": "CLOCK", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "a", "content": "noon"},
			{"role": "tool", "tool_call_id": "b", "content": "the parameters were cut"},
			{"role": "assistant", "content": "Noon."},
			{"role": "user", "content": "Thanks\n\nBye"}],
		"tools": [
			{"type": "function", "function": {"name": "time_now", "description": "tells the time", "strict": false,
				"parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}},
			{"type": "function", "function": {"name": "CLOCK", "description": "", "strict": false, "parameters": {"type": "object", "properties": {}}}}]}`
	if diff := cmp.Diff(decoded(t, want), decoded(t, string(fake.Requests()[0].Raw))); diff != "" {
		t.Error(diff)
	}
	if raw := string(fake.Requests()[0].Raw); !strings.Contains(raw, "in <b>Rome</b>?") {
		t.Errorf("sent was %s; want <b>Rome</b> in it without escapes", raw)
	}
	if bad := fake.Rejected(); len(bad) > 0 {
		t.Errorf("rejected: %s", bad[0].Rejected)
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// TestMaxTokens: OpenAI's own models know the newer name only, many others the older one.
func TestMaxTokens(t *testing.T) {
	for base, field := range map[string]string{
		OfficialURL:                 "max_completion_tokens",
		"http://localhost:11434/v1": "max_tokens",
		"http://openai.com.test/v1": "max_tokens",
	} {
		m := New(Options{BaseURL: base, Model: "m", MaxTokens: 5})
		for tokens, set := range map[int]bool{5: true, 0: false} {
			body := require.Value(m.body("m", tokens, hello, wire.Names{}))(t)
			if strings.Contains(string(body), `"`+field+`":5`) != set || strings.Contains(string(body), "tokens\":") != set {
				t.Errorf("%s, %d tokens: %s", base, tokens, body)
			}
		}
	}
}

// SE-19: the lower maximum counts, that of the model or that of the call.
func TestMaxTokensOfOneCall(t *testing.T) {
	for _, c := range []struct{ model, call, want int }{{0, 0, 0}, {300, 0, 300}, {0, 300, 300}, {300, 400, 300}, {300, 200, 200}} {
		fake := playing(modelfake.Text("ok"))
		m := over(t, fake, func(o *Options) { o.MaxTokens = c.model })
		require.Value(collect(t.Context(), m, llm.Request{MaxTokens: c.call, Messages: hello.Messages}))(t)
		got := 0
		if sent := fake.Requests()[0].MaxTokens; sent != nil {
			got = *sent
		}
		if got != c.want || m.MaxTokens() != c.model {
			t.Errorf("%+v: %d was sent", c, got)
		}
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("n", 70)
	ours := []string{"PLAY_DEMO", "a.b", "a b", "a_b", "wetter für heute", "", long, long + "!"}
	var req llm.Request
	for _, name := range ours {
		req.Tools = append(req.Tools, llm.Tool{Name: name})
	}
	req.Messages = []llm.Message{{Calls: []llm.ToolCall{{Name: "gone since"}}}}
	n := wire.NamesOf(req)
	want := []string{"PLAY_DEMO", "a_b", "a_b_2", "a_b_3", "wetter_f_r_heute", "_", long[:64], long[:62] + "_2"}
	for i, name := range ours {
		if got := n.Wire(name); got != want[i] {
			t.Errorf("%q is %q on the wire, want %q", name, got, want[i])
		}
		if back := n.Ours(n.Wire(name)); back != name {
			t.Errorf("%q came back as %q", name, back)
		}
	}
	if n.Wire("gone since") != "gone_since" || n.Ours("made_up") != "made_up" {
		t.Error("names from the history, or names that were never offered")
	}
}

// The reasoning of a round goes back with its calls, as DeepSeek and OpenRouter demand; only to the server that it came from.
func TestReasoningGoesBack(t *testing.T) {
	tests := map[string]struct {
		quirks Quirks
		script []modelfake.Step
		want   string // in the next request's message with the call
	}{
		"text": {Quirks{Reasoning: ReasoningContent}, []modelfake.Step{modelfake.Reasoning("I think so.", modelfake.ByWord)}, `"reasoning_content":"I think so."`},
		"parts": {Quirks{Reasoning: ReasoningDetails}, []modelfake.Step{
			modelfake.Delta(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"I th","signature":null}]}`),
			modelfake.Delta(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"ink","signature":"s"}]}`),
			modelfake.Delta(`{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"x"}]}`),
		}, `"reasoning_details":[{"index":0,"signature":"s","text":"I think","type":"reasoning.text"},{"data":"x","index":1,"type":"reasoning.encrypted"}]`},
		"none, but required": {Quirks{Reasoning: ReasoningContent, ReasoningRequired: true}, nil, `"reasoning_content":""`},
		"not wanted":         {Quirks{}, []modelfake.Step{modelfake.Reasoning("hm")}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fake := playing(append(test.script, modelfake.ToolCall("a", "DO", "{}"))...)
			m := over(t, fake, func(o *Options) { o.Quirks = test.quirks })
			first := require.Value(collect(t.Context(), m, hello))(t)
			answer := llm.Message{Role: llm.RoleAssistant, Calls: []llm.ToolCall{{ID: "a", Name: "DO", Parameters: []byte("{}")}}}
			for _, c := range first {
				if c.Opaque != nil {
					answer.Opaque = c.Opaque
				}
			}
			next := llm.Request{Messages: []llm.Message{hello.Messages[0], answer, {Role: llm.RoleTool, Call: "a", Text: "done"}}}
			for _, to := range []*Model{m, New(Options{BaseURL: "http://other.test/v1", Model: "m", Quirks: test.quirks})} {
				body := require.Value(to.body("m", 0, next, wire.NamesOf(next)))(t)
				has := test.want != "" && strings.Contains(string(body), test.want)
				if want := test.want != "" && (to == m || test.quirks.ReasoningRequired); has != want || to != m && strings.Contains(string(body), "think") {
					t.Errorf("%s: %s", to, body)
				}
			}
		})
	}
}

func TestShortIDs(t *testing.T) {
	m := New(Options{BaseURL: "http://a.test/v1", Quirks: Quirks{ShortIDs: true}})
	for _, id := range []string{"call_0123456789", "", "a-b"} {
		if got := m.callID(id); !shortID.MatchString(got) || got != m.callID(id) {
			t.Errorf("%q became %q", id, got)
		}
	}
	if got := m.callID("abcDEF123"); got != "abcDEF123" {
		t.Error(got)
	}
}

// TestCachedTokens: what an earlier prompt began with is told as read from the cache.
func TestCachedTokens(t *testing.T) {
	m := over(t, modelfake.New(modelfake.Options{}))
	req := llm.Request{System: strings.Repeat("Be kind. ", 50), Messages: hello.Messages}
	for turn, want := range []bool{false, true} {
		chunks := require.Value(collect(t.Context(), m, req))(t)
		u := chunks[len(chunks)-1].Usage
		if u == nil || (u.Cached > 0) != want || u.Cached > u.Prompt {
			t.Errorf("turn %d: %+v", turn, u)
		}
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Text: "You said: hello"}, llm.Message{Role: llm.RoleUser, Text: "more"})
	}
}
