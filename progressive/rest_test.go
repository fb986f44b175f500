package progressive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/progressive"
	"parley/progressive/markdown"
)

const restLine = "The rest of this answer is in the file rest-of-answer.md below."

func capped(most int) *progressive.MarkdownMessages {
	return progressive.NewMarkdownMessages(progressive.MarkdownOptions{
		Dialect: markdown.Light(), Limits: markdown.Limits{Length: 500}, MostFile: 10 << 20, MaxMessages: most, Progress: progressive.Full,
	})
}

func whole(text string) answer.View {
	return answer.View{Segments: []answer.Segment{{Text: text}}, Outcome: answer.Outcome{Status: answer.Completed}}
}

// paragraphs are n numbered ones.
func paragraphs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Paragraph %d says that the quick brown fox jumps over the lazy dog.\n\n", i)
	}
	return strings.TrimSpace(b.String())
}

// words are those of text, without code fences and the line that tells of the rest.
func allWords(text string) []string {
	for _, mark := range []string{"_", "*"} {
		text = strings.ReplaceAll(text, mark+"("+restLine+")"+mark, "")
	}
	text = strings.ReplaceAll(text, "```go", "")
	return strings.Fields(strings.ReplaceAll(text, "```", ""))
}

// ST-29: an answer is at most ten messages, with a file that holds the rest and a line that says so: not a word is lost or said
// twice. What was shown while it grew stays.
func TestLongAnswersEndInAFile(t *testing.T) {
	code := "```go\n" + strings.Repeat("fmt.Println(\"the quick brown fox\")\n", 2000) + "```"
	for name, text := range map[string]string{
		"paragraphs": paragraphs(2000), "code": "Look:\n\n" + code, "one line": strings.Repeat("word ", 20_000) + "end",
		"no space": strings.Repeat("ä", 50_000), "lines": strings.Repeat("- an item of a list\n", 3000), "2 MB": paragraphs(30_000),
	} {
		t.Run(name, func(t *testing.T) {
			p := capped(10)
			growing := p.Parts(answer.View{Segments: []answer.Segment{{Text: text[:len(text)*3/4]}}})
			if len(growing) != 9 || slices.ContainsFunc(growing, func(p progressive.Part) bool { return p.File != nil }) {
				t.Errorf("while it grows it has %d parts", len(growing))
			}
			begun := time.Now()
			parts := p.Parts(whole(text))
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("the end took %v", took)
			}
			if len(parts) > 10 || len(parts) < 9 {
				t.Fatalf("it is %d messages; want at most 10 and at least 9", len(parts))
			}
			last := parts[len(parts)-1]
			if last.File == nil || last.File.Name != "rest-of-answer.md" || !strings.HasPrefix(last.File.Type, "text/markdown") {
				t.Fatalf("the last is %+v", last)
			}
			var shown []string
			for i, m := range parts[:len(parts)-1] {
				shown = append(shown, m.Text)
				if i < 7 && m.Text != growing[i].Text {
					t.Errorf("message %d changed at the end", i)
				}
			}
			if n := strings.Count(strings.Join(shown, "\n"), restLine); n != 1 || !strings.Contains(shown[len(shown)-1], restLine) {
				t.Errorf("the line stands there %d times; the last message is %q; want 1 and it to contain %q", n, shown[len(shown)-1], restLine)
			}
			got := allWords(strings.Join(append(shown, string(last.File.Data)), "\n"))
			if want := allWords(text); name != "no space" && !slices.Equal(got, want) || name == "no space" && strings.Join(got, "") != text {
				t.Errorf("%d words are left of %d", len(got), len(want))
			}
			if name == "code" && !strings.HasPrefix(string(last.File.Data), "```go\n") {
				t.Errorf("the file begins with %.40q", last.File.Data)
			}
			if again := p.Parts(whole(text)); len(again) != len(parts) || again[0].Text != parts[0].Text {
				t.Error("the second call of Parts returned other parts; want the same")
			}
			refused := p.Parts(whole(text), "rest-of-answer.md")
			if n := len(refused); n > 10 || refused[n-1].File != nil || !strings.Contains(refused[n-1].Text, "too long for this chat") {
				t.Errorf("where no file is taken it is %d messages, the last %q", n, refused[n-1].Text)
			}
		})
	}
}

// ST-29: what fits stays as it is, and lines below the answer count.
func TestAnswersThatFitStay(t *testing.T) {
	for n := range 12 {
		text := paragraphs(7 * n)
		free, most := capped(0).Parts(whole(text)), capped(10).Parts(whole(text))
		if len(free) <= 10 && !slices.EqualFunc(free, most, func(a, b progressive.Part) bool { return a.Text == b.Text && a.File == b.File }) {
			t.Errorf("of %d messages there are %d", len(free), len(most))
		}
		if len(most) > 10 {
			t.Errorf("of %d messages there are %d; want at most 10", len(free), len(most))
		}
	}
	v := whole(paragraphs(300))
	for i := range 5 {
		v.Segments = append(v.Segments, answer.Segment{Call: fmt.Sprint(i), Tool: answer.Tool{Name: strings.Repeat("LOOK", 30), Stage: answer.StageEnd, Success: true}})
	}
	if parts := capped(10).Parts(v); len(parts) > 10 || parts[len(parts)-1].File == nil {
		t.Errorf("with lines below it is %d messages", len(parts))
	}
	if parts := capped(1).Parts(whole(paragraphs(300))); len(parts) != 2 || parts[1].File == nil {
		t.Errorf("of one message there are %d", len(parts))
	}
}

// ST-29: a rest that is larger than a file can be is cut between two characters.
func TestRestIsCutToAFile(t *testing.T) {
	rest := func(largest int) string {
		p := capped(3)
		p.MostFile = largest
		parts := p.Parts(whole(paragraphs(100) + strings.Repeat("é", 10)))
		return string(parts[len(parts)-1].File.Data)
	}
	all := rest(0)
	for less, want := range map[int]string{0: all, 1: strings.TrimSuffix(all, "é"), 2: strings.TrimSuffix(all, "é"), 3: strings.TrimSuffix(all, "éé")} {
		if got := rest(len(all) - less); got != want {
			t.Errorf("the largest file has %d bytes less than the rest: it has %d, and ends with %q; want %d", less, len(got), got[len(got)-6:], len(want))
		}
	}
}

// ST-29: the file with the rest opens a block of code again if, and only if, the answer is cut within one.
func TestRestKnowsWhereCodeEnds(t *testing.T) {
	for name, c := range map[string]struct{ begins, file string }{
		"no code":                  {"", "Paragraph "},
		"closed":                   {"```go\nx()\n```\n\n", "Paragraph "},
		"closed with tildes":       {"~~~go\nx()\n~~~\n\n", "Paragraph "},
		"closed by a longer fence": {"```go\nx()\n`````\n\n", "Paragraph "},
		"closed, indented":         {"```go\nx()\n   ```  \n\n", "Paragraph "},
		"closed, and code in line": {"```go\nx()\n```\n\n``` x ``` is code.\n\n", "Paragraph "},
		"two blocks":               {"```\nx()\n```\n\n```go\ny()\n", "```go\nParagraph "},
		"open":                     {"```go\n", "```go\nParagraph "},
		"open with tildes":         {"~~~ go\n```\n", "~~~ go\nParagraph "},
		"a shorter fence":          {"````go\n```\n", "````go\nParagraph "},
		"a fence with words":       {"```go\n``` go\n", "```go\nParagraph "},
		"a fence too far in":       {"```go\n    ```\n", "```go\nParagraph "},
	} {
		parts := capped(3).Parts(whole(c.begins + paragraphs(300)))
		last := parts[len(parts)-1]
		if last.File == nil || !strings.HasPrefix(string(last.File.Data), c.file) {
			t.Errorf("%s: the last part is %.40q; the file does not begin with %q", name, last.Text, c.file)
			continue
		}
		shown := parts[len(parts)-2].Text
		if code := strings.HasPrefix(c.file, "Paragraph"); code == strings.Contains(shown, "```\n\n*(The rest") {
			t.Errorf("%s: the last message is %q", name, shown)
		}
	}
}
