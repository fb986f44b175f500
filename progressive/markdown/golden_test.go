package markdown_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/golden"
	"parley/internal/require"
	"parley/progressive/markdown"
)

// A long answer in each dialect: whole, split, and at growing prefixes.
func TestGolden(t *testing.T) {
	data := require.Value(os.ReadFile("testdata/answer.md"))(t)
	text := string(data)
	for _, d := range dialects() {
		golden.Check(t, filepath.Join("testdata", "answer."+d.name+".golden"), join(markdown.Render(markdown.Parse(text), d.d, markdown.Limits{})))
		golden.Check(t, filepath.Join("testdata", "answer."+d.name+".parts.golden"), join(markdown.Render(markdown.Parse(text), d.d, markdown.Limits{Length: 700, Entities: 90})))
		r := markdown.NewRenderer(d.d, markdown.Limits{Length: 700, Entities: 90})
		var b strings.Builder
		for at := 97; at < len(text); at += 97 {
			parts := r.Render(text[:at], false)
			for _, p := range parts {
				d.judge(t, p, markdown.Limits{Length: 700, Entities: 90})
			}
			if len(parts) > 0 {
				last := parts[len(parts)-1].Text
				fmt.Fprintf(&b, "%d bytes, %d parts, the last ends with %q\n", at, len(parts), last[max(0, len(last)-60):])
			}
		}
		golden.Check(t, filepath.Join("testdata", "answer."+d.name+".growing.golden"), strings.ToValidUTF8(b.String(), "?"))
	}
}

// Code that is too long, while it is written and when it has ended.
func TestGoldenOfLongCode(t *testing.T) {
	text := "Put this into a file:\n\n" + fenced("go", program(40)) + "\n\n1. Build it.\n2. Run it."
	l := markdown.Limits{Length: 700, Entities: 90, Code: 1000}
	for _, d := range dialects() {
		r := markdown.NewRenderer(d.d, l)
		var b strings.Builder
		for _, at := range []int{600, 2000, len(text) - 8} {
			fmt.Fprintf(&b, "%d bytes\n════════════════\n%s\n", at, join(r.Render(text[:at], false)))
		}
		parts, files := r.Finish(text)
		fmt.Fprintf(&b, "the end\n════════════════\n%s\n", join(parts))
		for _, f := range files {
			fmt.Fprintf(&b, "%s has %d bytes\n", f.Name, len(f.Text))
		}
		golden.Check(t, filepath.Join("testdata", "longcode."+d.name+".golden"), b.String())
	}
}

func join(parts []markdown.Rendered) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString("\n════════════════\n")
		}
		b.WriteString(p.Text)
	}
	return b.String() + "\n"
}
