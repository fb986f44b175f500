package responses

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/core/llm"
	"parley/internal/require"
	"parley/models"
)

// With a history of its own, the provider stores the conversation: a request follows the last response and has only the new messages. If the
// provider has forgotten that, the whole conversation is sent again.
func TestChain(t *testing.T) {
	var got []map[string]any
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body) // it is whole, or no JSON
		var in map[string]any
		if err := json.Unmarshal(data, &in); err != nil {
			t.Error(err)
		}
		got = append(got, in)
		if n++; n == 4 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Previous response with id 'r2' not found.","code":"previous_response_not_found","param":"previous_response_id"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"type":"response.output_text.delta","delta":"Hi"}`+"\n\n"+`data: {"type":"response.completed","response":{"id":"r`+string(rune('0'+n))+`","status":"completed"}}`+"\n\n")
	}))
	defer s.Close()
	m := open(&Config{APIKey: "key", BaseURL: s.URL}, models.Options{Model: "model-a", Agent: models.Agent{History: models.HistoryLast}})
	var state json.RawMessage
	ask := func(messages ...llm.Message) {
		t.Helper()
		for c, err := range m.Generate(t.Context(), llm.Request{Messages: messages, Session: &llm.Session{State: state}}) {
			require.NoError(t, err)
			if c.State != nil {
				state = c.State
			}
		}
	}
	u := func(id string) llm.Message { return llm.Message{ID: id, Role: llm.RoleUser, Text: "Q" + id} }
	a := func(id string) llm.Message { return llm.Message{ID: id, Role: llm.RoleAssistant, Text: "Hi"} }
	called := llm.Message{Role: llm.RoleAssistant, Calls: []llm.ToolCall{{ID: "c", Name: "DO", Parameters: json.RawMessage("{}")}}}
	result := llm.Message{Role: llm.RoleTool, Call: "c", Text: "done"}
	ask(u("1"))
	ask(u("1"), called, result)
	ask(u("1"), called, result, called, result)
	ask(u("1"), a("2"), u("3")) // it is forgotten
	ask(u("edited"), a("2"), u("5"))
	want := []struct {
		previous any
		items    int
	}{{nil, 1}, {"r1", 1}, {"r2", 1}, {"r3", 1}, {nil, 3}, {nil, 3}}
	if len(got) != len(want) {
		t.Fatalf("%d requests", len(got))
	}
	for i, w := range want {
		if in := got[i]; in["previous_response_id"] != w.previous || len(in["input"].([]any)) != w.items || in["store"] != true {
			t.Errorf("request %d: %v after %v, stored: %v", i, in["input"], in["previous_response_id"], in["store"])
		}
	}
	if !strings.Contains(string(state), "r6") {
		t.Errorf("the state is %s", state)
	}
}
