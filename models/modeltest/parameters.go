package modeltest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/require"
)

// testParameters: what is configured is sent with each request, in the words of the wire.
func testParameters(t *testing.T, s Suite) {
	plain := s
	plain.Open = s.Tuned
	fake, m := plain.serve(t, "model-a")
	fake.Queue(Answer{Text: []string{"Hello."}})
	if a, err := ask(t.Context(), m, hello); err != nil || a.text != "Hello." {
		t.Fatalf("%+v, %v", a, err)
	}
	valid(t, fake)
	var sent, want map[string]any
	require.NoError(t, json.Unmarshal(fake.Seen()[0].Raw, &sent))
	require.NoError(t, json.Unmarshal([]byte(s.Sent), &want))
	if diff := cmp.Diff(want, part(sent, want)); diff != "" {
		t.Errorf("sent (+):\n%s", diff)
	}
	if _, ok := sent[s.Removed]; ok {
		t.Errorf("%s is sent", s.Removed)
	}
	fake, m = s.serve(t, "model-a")
	if _, err := ask(t.Context(), m, hello); err != nil || !strings.Contains(string(fake.Seen()[0].Raw), `"`+s.Removed+`"`) {
		t.Errorf("otherwise, %s is not sent either: %v", s.Removed, err)
	}
}

// part returns the values of sent whose keys are in like.
func part(sent, like map[string]any) map[string]any {
	all := map[string]any{}
	for key, value := range like {
		inner, ok := value.(map[string]any)
		found, is := sent[key].(map[string]any)
		switch {
		case ok && is:
			all[key] = part(found, inner)
		case sent[key] != nil:
			all[key] = sent[key]
		}
	}
	return all
}
