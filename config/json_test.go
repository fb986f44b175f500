package config

import (
	"strings"
	"testing"
)

// A file that ends too early is refused, wherever it ends.
func TestTruncatedJSON(t *testing.T) {
	const whole = `{"name": "Ada", "style": {"all": ["short", {"x": 1}]}, "n": null}`
	if _, wrong := readJSON([]byte(whole)); wrong != nil {
		t.Fatal(wrong)
	}
	for n := 1; n < len(whole); n++ {
		if got, wrong := readJSON([]byte(whole[:n])); wrong == nil {
			t.Errorf("%s is read as %+v", whole[:n], got)
		}
		// A bracket of the other kind ends nothing either.
		for _, end := range []string{"}", "]"} {
			if text := whole[:n] + end; strings.Count(text, "{") != strings.Count(text, "}") || strings.Count(text, "[") != strings.Count(text, "]") {
				if got, wrong := readJSON([]byte(text)); wrong == nil {
					t.Errorf("%s is read as %+v", text, got)
				}
			}
		}
	}
}
