package progressive_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/core/answer"
	"parley/internal/require"
	"parley/progressive"
	"parley/progressive/markdown"
)

// dialects are those in which platforms are written to, with small messages.
var dialects = map[string]progressive.MarkdownOptions{
	"light": {Dialect: markdown.Light(), Limits: markdown.Limits{Length: 90}},
	"HTML":  {Dialect: markdown.HTML(markdown.HTMLOptions{}), Limits: markdown.Limits{Length: 90, Entities: 90}},
}

// excerpts are pieces of Markdown that people wrote, of whole characters.
func excerpts(t *testing.T, r *rand.Rand, n int) (all []string) {
	t.Helper()
	var texts []string
	for _, name := range []string{"markdown/testdata/answer.md", "../README.md", "../docs/web-api.md"} {
		text := require.Value(os.ReadFile(name))(t)
		texts = append(texts, string(text))
	}
	for i := range n {
		text := texts[i%len(texts)]
		from := r.IntN(max(1, len(text)-160))
		text = text[from : from+min(160, len(text)-from)]
		all = append(all, strings.ToValidUTF8(text, ""))
	}
	return all
}

// pieces cuts a text anywhere between two characters, in a few large or in many small ones.
func pieces(r *rand.Rand, text string) (all []string) {
	most := 2 << r.IntN(7)
	for text != "" {
		n := min(len(text), 1+r.IntN(most))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		all, text = append(all, text[:n]), text[n:]
	}
	return all
}

// inPieces is what stands there at last when an answer came in pieces, and was shown now and then.
func inPieces(t *testing.T, r *rand.Rand, o progressive.MarkdownOptions, pieces []string) []progressive.Part {
	t.Helper()
	var a answer.Answer
	p := progressive.NewMarkdownMessages(o)
	for _, piece := range pieces {
		a.Apply(answer.Change{Kind: answer.Text, Text: piece})
		if r.IntN(len(pieces)) == 0 {
			p.Parts(a.View())
		}
	}
	a.End(answer.Outcome{Status: answer.Completed})
	v := a.View()
	if want := strings.Join(pieces, ""); v.Text() != want {
		t.Fatalf("%q became %q; want %q", pieces, v.Text(), want)
	}
	return p.Parts(v)
}

// I4, ST-20: however an answer is cut on its way, platforms show the same at last.
func TestAnyPieces(t *testing.T) {
	for name, o := range dialects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			texts := excerpts(t, r, 25)
			for i, text := range texts {
				want := inPieces(t, r, o, []string{text})
				for range 200 { // 10,000 in both dialects
					cut := pieces(r, text)
					if got := inPieces(t, r, o, cut); !slices.Equal(got, want) {
						t.Fatalf("excerpt %d in %q:\n%s\nat once\n%s", i, cut, plainOf(got), plainOf(want))
					}
				}
			}
		})
	}
}

// Texts that a merge by overlap damages: each piece is new, whatever it looks like.
func TestPiecesThatLookAlike(t *testing.T) {
	for _, cut := range [][]string{
		{"bana", "na"}, {"ha", "ha"}, {"one\n\n", "\n\n", "two"}, {"```\n", "x\n", "```\n"}, {"Step 1: ", "Step 1 done"},
	} {
		for name, o := range dialects {
			r := rand.New(rand.NewPCG(1, 2))
			got, want := inPieces(t, r, o, cut), inPieces(t, r, o, []string{strings.Join(cut, "")})
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q became %s, want %s", name, cut, plainOf(got), plainOf(want))
			}
		}
	}
}

func plainOf(parts []progressive.Part) string {
	var all []string
	for _, p := range parts {
		all = append(all, fmt.Sprintf("%q", p.Text))
	}
	return strings.Join(all, "\n")
}
