package markdown_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"parley/progressive/markdown"
)

// dialect is one to test, with limits that are just possible or as wished, and what judges its parts.
type dialect struct {
	name  string
	d     markdown.Dialect
	judge func(t testing.TB, p markdown.Rendered, l markdown.Limits)
}

func dialects() []dialect {
	return []dialect{
		{"html", markdown.HTML(markdown.HTMLOptions{Spoiler: spoilerTag}), judgeHTML},
		{"light", markdown.Light(), judgeLight},
		{"plain", markdown.Plain(), judgePlain},
		{"terminal", markdown.Terminal(markdown.TerminalOptions{Width: 40, Links: true}), judgeTerminal},
	}
}

// judgeLight checks the length and that every block of code is closed (DR-07, ST-11).
func judgeLight(t testing.TB, p markdown.Rendered, l markdown.Limits) {
	t.Helper()
	if n := markdown.UTF16(p.Text); l.Length > 0 && n > l.Length {
		t.Fatalf("length %d of %d: %q", n, l.Length, p.Text)
	}
	open := false
	for line := range strings.SplitSeq(p.Text, "\n") {
		line = strings.TrimLeft(line, "> ")
		if strings.HasPrefix(line, "```") {
			if open && line != "```" {
				t.Fatalf("code within code: %q", p.Text)
			}
			open = !open
		} else if strings.Contains(line, "```") {
			t.Fatalf("a fence within a line: %q", p.Text)
		}
	}
	if open {
		t.Fatalf("open code: %q", p.Text)
	}
}

func judgePlain(t testing.TB, p markdown.Rendered, l markdown.Limits) {
	t.Helper()
	if n := markdown.UTF16(p.Text); p.Text != p.Plain || l.Length > 0 && n > l.Length {
		t.Fatalf("length %d of %d, %q, %q", n, l.Length, p.Text, p.Plain)
	}
}

var sequence = regexp.MustCompile("\x1b\\[[0-9]+m|\x1b\\]8;;[^\x1b]*\x1b\\\\")

func judgeTerminal(t testing.TB, p markdown.Rendered, l markdown.Limits) {
	t.Helper()
	if n := markdown.UTF16(p.Text); l.Length > 0 && n > l.Length {
		t.Fatalf("length %d of %d", n, l.Length)
	}
	if s := sequence.ReplaceAllString(p.Text, ""); s != p.Plain {
		t.Fatalf("%q reads as %q, not %q", p.Text, s, p.Plain)
	}
}

// squeezed is what of s must be the same however it is split: all but blanks, and the marks that stand before lines.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '>' || r == '\u200b' {
			return -1
		}
		return r
	}, s)
}

// check renders doc in all dialects, whole and within limits.
func check(t testing.TB, doc markdown.Document, limit int) {
	t.Helper()
	for _, d := range dialects() {
		for _, p := range markdown.Render(doc, d.d, markdown.Limits{}) {
			d.judge(t, p, markdown.Limits{})
		}
		l := markdown.Limits{Length: limit, Raw: max(256, limit*8), Entities: 90}
		var all strings.Builder
		for _, p := range markdown.Render(doc, d.d, l) {
			if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Plain) {
				t.Fatalf("%s: invalid UTF-8 in %q", d.name, p)
			}
			d.judge(t, p, l)
			all.WriteString(p.Plain)
		}
		a, b := squeezed(markdown.Unsplit(doc, d.d, l)), squeezed(all.String())
		if doc.Open() && strings.HasPrefix(a, b) {
			continue // what may yet change is not shown in a part of its own
		}
		if a != b {
			t.Fatalf("%s at %d: split reads\n%q, whole\n%q", d.name, limit, b, a)
		}
	}
}
