package markdown_test

import (
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
