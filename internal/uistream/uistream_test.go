package uistream

import (
	"encoding/json"
	"parley/internal/require"
	"testing"
)

// What is read is written again, without fields that have no value.
func TestWire(t *testing.T) {
	for _, chunk := range []string{
		`{"type":"start","messageId":"a1"}`,
		`{"type":"text-delta","id":"t1","delta":"Hi"}`,
		`{"type":"tool-input-available","toolCallId":"c1","toolName":"search","dynamic":true,"input":{"q":null}}`,
		`{"type":"data-status","id":"st","data":{"text":"Searching"}}`,
		`{"type":"finish","finishReason":"stop"}`,
	} {
		var c Chunk
		require.NoError(t, json.Unmarshal([]byte(chunk), &c))
		if got, err := json.Marshal(c); string(got) != chunk || err != nil {
			t.Errorf("%s, %v, want %s", got, err, chunk)
		}
	}
}
