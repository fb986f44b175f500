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

// A link of up to 200 bytes stays in one part, and words around it are in another. A longer one is cut between its words.
func TestOnlyLongLinksAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		label string
		first string // part
	}{
		"200 bytes": {"é" + strings.Repeat("word ", 39) + "end", strings.TrimSpace(strings.Repeat("text ", 30))},
		"201 bytes": {"é" + strings.Repeat("word ", 39) + "ends", strings.Repeat("text ", 30) + "é" + strings.TrimSpace(strings.Repeat("word ", 20))},
	} {
		parts := markdown.Render(markdown.Parse(strings.Repeat("text ", 30)+"["+c.label+"](https://example.com/)"), markdown.HTML(markdown.HTMLOptions{}), markdown.Limits{Length: 250})
		if len(parts) != 2 || parts[0].Plain != c.first {
			t.Errorf("a link of %s: the parts are %q; want two, the first %q", name, parts, c.first)
		}
	}
}

// <br> outside of code is a line break, two are a paragraph; in a cell, which has one line, it is a blank.
func TestBreakTag(t *testing.T) {
	for text, want := range map[string]string{
		"one<br>two":              "one\ntwo",
		"one<br/>two<BR />three":  "one\ntwo\nthree",
		"one<br>\ntwo":            "one\ntwo",
		"one<br><br>two":          "one\n\ntwo",
		"- one<br>two\n- three":   "• one\n  two\n• three",
		"**one<br>two**":          "one\ntwo",
		"`one<br>two`":            "one<br>two",
		"    one<br>two":          "one<br>two",
		`one\<br>two`:             "one<br>two",
		"one <branch> two":        "one <branch> two",
		"one < br> two":           "one < br> two",
		"one<br>":                 "one",
		"[one<br>two](https://x)": "one\ntwo (https://x)",
	} {
		if plain := markdown.Unsplit(markdown.Parse(text), markdown.Plain(), markdown.Limits{}); plain != want {
			t.Errorf("%q is %q; want %q", text, plain, want)
		}
	}
	const table = "| a | b |\n|---|---|\n| one<br>two | 3 |\n"
	if plain := markdown.Unsplit(markdown.Parse(table), markdown.Plain(), markdown.Limits{}); strings.Contains(plain, "<") || !strings.Contains(plain, "one two") {
		t.Errorf(`the table is %q; want it without "<" and it to contain "one two"`, plain)
	}
}

// A tag that is being written is not visible as text.
func TestBreakTagWhileItIsWritten(t *testing.T) {
	for _, begun := range []string{"<", "<b", "<br", "<br ", "<br /", "<BR/"} {
		r := markdown.NewRenderer(markdown.Plain(), markdown.Limits{})
		parts := r.Render("one and more words"+begun, false)
		if len(parts) != 1 || parts[0].Plain != "one and more words" {
			t.Errorf("%q: %+v", begun, parts)
		}
	}
}

// Of styles within each other, 17 count: the words in deeper ones stay.
func TestStylesWithinEachOther(t *testing.T) {
	for marks, want := range map[int]int{1: 1, 16: 16, 17: 17, 18: 17, 40: 17} {
		text := "a"
		for i := range marks {
			m := strings.Repeat("*", 1+i%2)
			text = m + "x " + text + m
		}
		in, depth := markdown.Parse(text).Pieces[0].Block.(markdown.Paragraph).Text, 0
		for ; len(in) > 0; depth++ {
			s, ok := in[len(in)-1].(markdown.Styled)
			if !ok {
				break
			}
			in = s.Text
		}
		if words := in[0].(markdown.Text); depth != want || string(words) != strings.Repeat("x ", marks-want+1)+"a" {
			t.Errorf("%d styles: %d with %q; want %d", marks, depth, words, want)
		}
	}
}
