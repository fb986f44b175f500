package markdown_test

import (
	"strings"
	"sync"
	"testing"

	"parley/progressive/markdown"
)

// Renderers of different answers share a parser and the room for their work, but nothing of what they render.
func TestRenderersAtTheSameTime(t *testing.T) {
	texts := []string{
		strings.Repeat("- a list with `code`, **weight** and <https://example.org>\n", 20),
		strings.Repeat("| a | table |\n|---|---|\n| of | two |\n\nand words, $x^2$\n\n", 20),
		strings.Repeat("> a quotation\n> of two lines\n\n```go\nfunc f() {}\n```\n\n", 20),
	}
	render := func(text string) (all []string) {
		r := markdown.NewRenderer(markdown.Light(), markdown.Limits{Length: 400})
		for n := 100; n < len(text); n += 100 {
			r.Render(text[:n], false)
		}
		for _, p := range r.Render(text, true) {
			all = append(all, p.Text)
		}
		return all
	}
	var want []string
	for _, text := range texts {
		want = append(want, strings.Join(render(text), "\x00"))
	}
	var work sync.WaitGroup
	for n := range 12 {
		work.Go(func() {
			if got := strings.Join(render(texts[n%3]), "\x00"); got != want[n%3] {
				t.Errorf("text %d is rendered as %q, alone as %q", n%3, got, want[n%3])
			}
		})
	}
	work.Wait()
}
