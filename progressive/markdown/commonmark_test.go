package markdown_test

import (
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/internal/require"
	"parley/progressive/markdown"
)

// TestCommonMark reads the official examples, which come with the parser's module: they render validly everywhere, and
// but for what we read otherwise on purpose, they read as they should.
func TestCommonMark(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Skip("SKIPPED: no go command to find the examples with: ", err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "_test", "spec.json"))
	if err != nil {
		t.Skip("SKIPPED: the official examples are not there: ", err)
	}
	var examples []struct {
		Markdown, HTML, Section string
		Example                 int
	}
	require.NoError(t, json.Unmarshal(data, &examples))
	same, other := 0, map[string]int{}
	for _, e := range examples {
		doc := markdown.Parse(e.Markdown)
		check(t, doc, 64)
		check(t, doc, 64+37*e.Example%500)
		for cut := range len(e.Markdown) {
			check(t, markdown.Interim(e.Markdown[:cut]), 64)
		}
		if got, want := shown(doc), wanted(e.HTML); got == want {
			same++
		} else {
			other[e.Section]++
			t.Logf("%d %s\n%q\ngot  %q\nwant %q", e.Example, e.Section, e.Markdown, got, want)
		}
	}
	t.Logf("%d of %d; %v", same, len(examples), other)
	if same < leastSame {
		t.Errorf("only %d of %d examples read as they should", same, len(examples))
	}
}

// leastSame is how many examples read alike. The others use raw HTML and definitions of links, which are text to us.
const leastSame = 510

// shown is the words of doc with the tags that CommonMark has too, without blanks.
func shown(doc markdown.Document) string {
	var b strings.Builder
	for _, p := range markdown.Render(doc, markdown.HTML(markdown.HTMLOptions{}), markdown.Limits{}) {
		b.WriteString(p.Text)
	}
	s := regexp.MustCompile(`<a href="[^"]*">|</a>|</?pre>|<code class="[^"]*">|</?blockquote>|</?code>`).ReplaceAllString(b.String(), "")
	return squeezed(html.UnescapeString(marks.ReplaceAllString(s, "")))
}

var marks = regexp.MustCompile(`(?m)^ *(•|\d+\.) |──────────|\(.*\)`)

func wanted(s string) string {
	s = strings.NewReplacer("<strong>", "<b>", "</strong>", "</b>", "<em>", "<i>", "</em>", "</i>").Replace(s)
	s = regexp.MustCompile(`<h[1-6]>`).ReplaceAllString(s, "<b>")
	s = regexp.MustCompile(`</h[1-6]>`).ReplaceAllString(s, "</b>")
	s = regexp.MustCompile(`<img src="[^"]*" alt="([^"]*)"[^>]*>`).ReplaceAllString(s, "$1")
	s = regexp.MustCompile(`</?(p|a|ul|ol|li|pre|code|blockquote|hr|br)( [^>]*)?>`).ReplaceAllString(s, "")
	return squeezed(html.UnescapeString(marks.ReplaceAllString(s, "")))
}
