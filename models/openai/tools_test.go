package openai

import (
	"encoding/json"
	"testing"

	"parley/core/llm"
	"parley/internal/require"
	"parley/models/wire"
)

// Whatever tools the last request had, a request is the one that a new model would make.
func TestToolsOfSuccessiveRequests(t *testing.T) {
	dot, slash := llm.Tool{Name: "time.now", Description: "tells the time"}, llm.Tool{Name: "time/now", Description: "tells the time"}
	city := dot
	city.Parameters = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)
	other := city
	other.Description = "tells the time of a city"
	m := New(Options{Model: "m"})
	for i, tools := range [][]llm.Tool{{dot, slash}, {dot, slash}, {slash, dot}, {slash}, {dot}, {city}, {other}, nil, {other}, {other, slash}} {
		req := llm.Request{Tools: tools, Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hello"}}}
		got := require.Value(m.body("m", 0, req, wire.NamesOf(req)))(t)
		want := require.Value(New(Options{Model: "m"}).body("m", 0, req, wire.NamesOf(req)))(t)
		var sent struct{ Tools []tool }
		if err := json.Unmarshal(got, &sent); err != nil || string(got) != string(want) || len(sent.Tools) != len(tools) {
			t.Errorf("request %d, %v: %s\nwant %s", i, err, got, want)
		}
	}
}
