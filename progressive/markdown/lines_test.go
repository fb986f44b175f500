package markdown_test

import (
	"reflect"
	"strings"
	"testing"

	"parley/progressive/markdown"
)

// What is no Markdown keeps all its marks.
func TestLines(t *testing.T) {
	lines := []string{"read: *a_b* <i> `c` [x](y)", "# 2 & 3"}
	plain := lines[0] + "\n" + lines[1]
	for name, c := range map[string]struct {
		dialect markdown.Dialect
		want    string
	}{
		"html":  {markdown.HTML(markdown.HTMLOptions{}), "read: *a_b* &lt;i&gt; `c` [x](y)\n# 2 &amp; 3"},
		"light": {markdown.Light(), "read: \\*a_b\\* <i> \\`c\\` [x\\](y)\n\\# 2 & 3"},
	} {
		text, reads := markdown.NewRenderer(c.dialect, markdown.Limits{}).Lines(lines)
		if text != c.want || reads != plain {
			t.Errorf("%s: %q, read as %q; want %q and %q", name, text, reads, c.want, plain)
		}
	}
	if text, plain := markdown.NewRenderer(markdown.Light(), markdown.Limits{}).Lines(nil); text != "" || plain != "" {
		t.Errorf("nothing is %q, %q; want none and none", text, plain)
	}
}

// A tab in an indent reaches to the next multiple of four columns.
func TestTabsOfAnIndent(t *testing.T) {
	for tabs, columns := range map[string]int{"\t": 4, " \t": 4, "\t ": 5, "\t\t": 8, "  \t": 4, "   \t": 4, " \t\t": 8, "    \t": 8, "   \t ": 5, "\t \t": 8} {
		for _, text := range []string{"- a\n%s- b", "a\n\n%sb", "100. a\n\n%sb", "100. a\n\n%s- b", "1000000. a\n\n%sb", "- a\n%sb", "- a\n\n%sb", "- a\n  - b\n%s- c", "1. a\n%s1. b", "- a\n%s- b\n%s- c"} {
			r := markdown.NewRenderer(markdown.HTML(markdown.HTMLOptions{}), markdown.Limits{})
			got, _ := r.Finish(strings.ReplaceAll(text, "%s", tabs))
			want, _ := r.Finish(strings.ReplaceAll(text, "%s", strings.Repeat(" ", columns)))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%q with the indent %q is %+v; want %+v", text, tabs, got, want)
			}
		}
	}
}
