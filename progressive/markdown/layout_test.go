package markdown_test

import (
	"strings"
	"testing"

	"parley/progressive/markdown"
)

// Words after the code of an item stand under the item again, and words after the item do not.
func TestWordsAfterCodeInAnItem(t *testing.T) {
	const text = "1. Run\n\n   ```\n   x()\n   ```\n\n   and look.\n\nDone."
	for _, d := range dialects() {
		parts := markdown.Render(markdown.Parse(text), d.d, markdown.Limits{})
		if want := "1. Run\n\nx()\n\n   and look.\n\nDone."; len(parts) != 1 || parts[0].Plain != want {
			t.Errorf("%s: %q", d.name, parts)
		}
	}
}

// What is read in pieces because it is long has no gaps where they meet.
func TestLongBlocksHaveNoGaps(t *testing.T) {
	for name, line := range map[string]string{"words": "Some words of a line.\n", "items": "- Some words of an item.\n"} {
		text := strings.TrimSpace(strings.Repeat(line, 3000))
		if plain := markdown.Unsplit(markdown.Parse(text), markdown.Plain(), markdown.Limits{}); strings.Contains(plain, "\n\n") || strings.Count(plain, "\n") != 2999 {
			at := strings.Index(plain, "\n\n")
			t.Errorf("%s: a gap at %d, %d lines", name, at, strings.Count(plain, "\n"))
		}
	}
}

// The words of a link are cut between lines, and nowhere else.
func TestLinkIsCutBetweenLines(t *testing.T) {
	text := strings.Repeat("word ", 10) + "[several words of a link\nand several more](https://example.com/)"
	parts := markdown.Render(markdown.Parse(text), markdown.HTML(markdown.HTMLOptions{}), markdown.Limits{Length: 80})
	want := []string{strings.Repeat("word ", 10) + "several words of a link", "and several more"}
	if len(parts) != 2 || parts[0].Plain != want[0] || parts[1].Plain != want[1] {
		t.Errorf("%q", parts)
	}
}
