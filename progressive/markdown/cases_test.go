package markdown_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"parley/internal/golden"
	"parley/internal/require"
	"parley/progressive/markdown"
)

// The cases, and the results of the three readers of Markdown: each has a line for every case.
const (
	cases    = "../../connectors/web/testdata/markdown.md"
	byServer = "../../connectors/web/testdata/markdown.server.golden"
	byPage   = "../../connectors/web/testdata/markdown.page.golden" // of the page's unit tests
	inDocs   = "../../docs/engineering/markdown.md"
)

// The server, the terminal and the page read the same cases. The terminal has all words that the server reads. Where the page reads another
// structure, the case is in the docs.
func TestReadersOfMarkdownDiffer(t *testing.T) {
	file := require.Value(os.ReadFile(cases))(t)
	texts := strings.Split(string(file), "\n=====\n")
	var read []string
	for _, text := range texts {
		doc := markdown.Parse(text)
		read = append(read, structure(doc.Pieces))
		var shown, plain strings.Builder
		for _, p := range markdown.Render(doc, markdown.Terminal(markdown.TerminalOptions{}), markdown.Limits{}) {
			shown.WriteString(regexp.MustCompile("\x1b\\[\\d+m").ReplaceAllString(p.Text, ""))
			plain.WriteString(p.Plain)
		}
		if squeezed(shown.String()) != squeezed(plain.String()) {
			t.Errorf("the terminal shows %q of %q", shown.String(), text)
		}
	}
	golden.Check(t, byServer, strings.Join(read, "\n")+"\n")
	page := require.Value(os.ReadFile(byPage))(t)
	shown := strings.Split(strings.TrimSuffix(string(page), "\n"), "\n")
	if len(shown) != len(texts) {
		t.Fatalf("%s has %d lines, want %d", byPage, len(shown), len(texts))
	}
	table := strings.Builder{}
	for i, text := range texts {
		if shown[i] != read[i] {
			fmt.Fprintf(&table, "| %s | %s | %s |\n", cell(text), cell(read[i]), cell(shown[i]))
		}
	}
	docs := require.Value(os.ReadFile(inDocs))(t)
	head, _, _ := strings.Cut(string(docs), "|---|---|---|\n")
	golden.Check(t, inDocs, head+"|---|---|---|\n"+table.String())
}

// cell is code in a cell of a table.
func cell(s string) string {
	return "``" + strings.NewReplacer("\n", "⏎", "|", `\|`, "``", "` `").Replace(" "+s+" ") + "``"
}

// structure writes blocks as the page's unit tests write theirs.
func structure(pieces []markdown.Piece) string {
	var out []string
	for i := 0; i < len(pieces); i++ {
		switch b := pieces[i].Block.(type) {
		case markdown.List:
			for ; i+1 < len(pieces) && (pieces[i+1].Joint == markdown.NextLine || !b.Ordered); i++ { // each item at the top is a piece
				next, ok := pieces[i+1].Block.(markdown.List)
				if !ok || next.Ordered != b.Ordered {
					break
				}
				b.Items = append(b.Items, next.Items...)
			}
			out = append(out, list(b))
		default:
			out = append(out, structured(b))
		}
	}
	return strings.Join(out, " ")
}

func list(l markdown.List) string {
	name := "ul"
	if l.Ordered {
		name = fmt.Sprintf("ol:%d", l.Start)
	}
	var items []string
	for _, item := range l.Items {
		var parts []string
		for _, p := range item.Blocks {
			if text, ok := p.Block.(markdown.Paragraph); ok {
				parts = append(parts, inline(text.Text))
			} else {
				parts = append(parts, structure([]markdown.Piece{p}))
			}
		}
		items = append(items, [...]string{"li", "open", "done"}[item.Task]+"("+strings.Join(parts, " ")+")")
	}
	return name + "(" + strings.Join(items, " ") + ")"
}

func structured(b markdown.Block) string {
	switch b := b.(type) {
	case markdown.Paragraph:
		return "p(" + inline(b.Text) + ")"
	case markdown.Heading:
		return fmt.Sprintf("h%d(%s)", b.Level, inline(b.Text))
	case markdown.Quote:
		return "quote(" + structure(b.Blocks) + ")"
	case markdown.Code:
		return "pre:" + b.Language + "(" + strings.ReplaceAll(b.Text, "\n", "⏎") + ")"
	case markdown.Math:
		return "math(" + strings.Trim(b.Text, "$\\[]() \n") + ")"
	case markdown.Rule:
		return "hr"
	case markdown.Table:
		var rows []string
		for _, row := range append([][][]markdown.Inline{b.Head}, b.Rows...) {
			var cells []string
			for _, c := range row {
				cells = append(cells, inline(c))
			}
			rows = append(rows, "row("+strings.Join(cells, " | ")+")")
		}
		return "table(" + strings.Join(rows, " ") + ")"
	}
	return fmt.Sprintf("%T", b)
}

func inline(all []markdown.Inline) string {
	var out strings.Builder
	for _, one := range all {
		switch one := one.(type) {
		case markdown.Text:
			out.WriteString(string(one))
		case markdown.Break:
			out.WriteString("⏎")
		case markdown.Span:
			out.WriteString("code(" + string(one) + ")")
		case markdown.Styled:
			name := map[markdown.Kind]string{markdown.Strong: "b", markdown.Emphasis: "i", markdown.Strike: "s"}[one.Style]
			out.WriteString(name + "(" + inline(one.Text) + ")")
		case markdown.Link:
			out.WriteString("a[" + one.URL + "](" + inline(one.Text) + ")")
		}
	}
	return strings.ReplaceAll(out.String(), "\n", "⏎")
}
