package core

import "testing"

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":         "plain",
		"a\x00b":        "ab",
		"half \xf0\x9f": "half \uFFFD",
		"👩‍👩‍👧 ok":      "👩‍👩‍👧 ok",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) is %q", in, got)
		}
	}
}
