package agui

import (
	"encoding/json"
	"parley/internal/require"
	"testing"
)

// Fields without a value are absent: clients of 0.0.x take no null. What is read is written again.
func TestWire(t *testing.T) {
	for _, event := range []string{
		`{"type":"RUN_STARTED","threadId":"T","runId":"R"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hi"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"r","role":"tool","toolCallId":"c1","content":""}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"s","content":{"text":"Searching"},"activityType":"STATUS"}`,
		`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":null}]}`,
		`{"type":"RUN_FINISHED","threadId":"T","runId":"R","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirm"}]}}`,
	} {
		var e Event
		require.NoError(t, json.Unmarshal([]byte(event), &e))
		if got, err := json.Marshal(e); string(got) != event || err != nil {
			t.Errorf("%s, %v, want %s", got, err, event)
		}
	}
}
