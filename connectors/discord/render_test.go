package discord

import (
	"strings"
	"testing"

	"parley/connectors"
	"parley/core/answer"
	"parley/progressive"
	"parley/progressive/markdown"
)

// DR-07: whatever the text, every part fits, and its code blocks are closed.
func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"plain", "| a | b |\n|---|---|\n| 1 | 2 |\n", "#### small\n", "[https://x.y](https://x.y)", "```go\n| a | b |\n|---|---|\n```",
		strings.Repeat("word ", 900), "```\n" + strings.Repeat("x := 1\n", 600) + "```\n", strings.Repeat("👩‍👩‍👧", 700),
		"| a |\n|---|\n" + strings.Repeat("| "+strings.Repeat("x", 90)+" |\n", 60), "e" + strings.Repeat("\u0301", 3000), "\xff\xfe",
		"|\n|-|\n|", "|a|b|\r\n|-|-|\r\n|c|", "~~~\n| a | b |\n|---|---|\n~~~",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for i, p := range rendered(s) {
			if n := markdown.UTF16(p.Text); n > mostText {
				t.Errorf("part %d has %d units", i, n)
			}
			if p.ReplyTo != (i == 0) {
				t.Errorf("part %d: ReplyTo %t", i, p.ReplyTo)
			}
		}
	})
}

// Parts that are complete stay as they are while a text grows.
func TestCompletePartsStayWhileTextGrows(t *testing.T) {
	text := strings.Repeat("Some words of a paragraph that goes on.\n\n#### Title\n\n", 100)
	var before []progressive.Part
	for n := 0; n <= len(text); n += 97 {
		now := rendered(text[:n])
		for i := 0; i < len(before)-1; i++ {
			if now[i] != before[i] {
				t.Fatalf("at %d part %d changed:\n%s\nwas:\n%s", n, i, now[i].Text, before[i].Text)
			}
		}
		before = now
	}
}

// rendered is a whole text.
func rendered(text string) []progressive.Part {
	return connectors.Display{Progress: progressive.Off}.Messages(display).Parts(answer.View{Segments: []answer.Segment{{Text: text}}, Outcome: answer.Outcome{Status: answer.Completed}})
}
