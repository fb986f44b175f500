package turn

import (
	"testing"

	"parley/core/answer"
)

// What is spoken has no code, addresses and marks, and nothing of actions and notices.
func TestSpoken(t *testing.T) {
	for text, want := range map[string]string{
		"**Bold** and `code`.": "Bold and code.", "# Title\n\n```go\nx := 1\n```\nDone.": "Title\n\n\nDone.",
		"See [the docs](https://example.org/a) or https://example.org.": "See the docs or", "```go\nopen": "", "3 * 4": "3  4",
	} {
		v := answer.View{Segments: []answer.Segment{{Text: text}, {Call: "c", Text: "tool"}, {Notice: true, Text: "notice"}}}
		if got := spoken(v); got != want {
			t.Errorf("%q is spoken as %q; want %q", text, got, want)
		}
	}
}
