package markdown

import (
	"bufio"
	"bytes"
	stdhtml "html"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer/html"
)

const mostDepth = 16 // blocks or styles within each other; deeper ones are placed in the last one

// converter makes our nodes of goldmark's. It is used for one segment. Its own types keep the library out of the other
// steps, and hold copies, since goldmark's nodes refer to the source.
type converter struct {
	src    []byte
	number int // of the first item at the top
	task   Task
}

// blocks converts the blocks in n. depth bounds the recursion, as the text is untrusted.
func (c *converter) blocks(n ast.Node, depth int) (pieces []Piece) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		pieces = append(pieces, Piece{Block: c.block(child, depth)})
	}
	return pieces
}

// block converts a block. A kind that has no type of its own is shown as text.
func (c *converter) block(n ast.Node, depth int) Block {
	if depth > mostDepth {
		return Paragraph{lines(strings.TrimSpace(c.source(n)))}
	}
	switch n := n.(type) {
	case *ast.Heading:
		return Heading{n.Level, c.inlines(n, 0)}
	case *ast.ThematicBreak:
		return Rule{}
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = string(n.Info.Segment.Value(c.src))
		}
		return Code{Language: strings.TrimSpace(info), Text: c.source(n)}
	case *ast.CodeBlock:
		return Code{Text: strings.TrimRight(c.source(n), "\n")}
	case *ast.Blockquote:
		return Quote{c.blocks(n, depth+1)}
	case *ast.List:
		return c.list(n, depth)
	case *extast.Table:
		return c.table(n)
	case *ast.Paragraph, *ast.TextBlock:
		return Paragraph{c.inlines(n, 0)}
	}
	return Paragraph{lines(c.source(n))}
}

// source returns the text in the lines of n and of the blocks in it, with the markup.
func (c *converter) source(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock {
			b.Write(n.Lines().Value(c.src))
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSuffix(b.String(), "\n")
}

// list converts a list. A segment holds one item of a list at the top level, so its number comes from the segmenter,
// which has counted.
func (c *converter) list(n *ast.List, depth int) List {
	l := List{Ordered: n.IsOrdered(), Start: n.Start}
	if depth == 0 && l.Ordered {
		l.Start = c.number
	}
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		it := Item{Joint: joint(child)}
		for b := child.FirstChild(); b != nil; b = b.NextSibling() {
			c.task = NoTask
			block := c.block(b, depth+1)
			if b == child.FirstChild() {
				it.Task = c.task
			}
			it.Blocks = append(it.Blocks, Piece{Block: block, Joint: joint(b)})
		}
		l.Items = append(l.Items, it)
	}
	return l
}

// joint returns how n is connected with the text before it. It depends on the blank lines before n alone, so that later
// text can't change it; CommonMark's loose lists depend on all items.
func joint(n ast.Node) Joint {
	if n.HasBlankPreviousLines() {
		return Apart
	}
	return NextLine
}

// table converts a table. Rows with too few cells get empty ones, and further cells are dropped, as GFM does.
func (c *converter) table(n *extast.Table) Table {
	var t Table
	for _, a := range n.Alignments {
		t.Align = append(t.Align, map[extast.Alignment]Align{extast.AlignCenter: Center, extast.AlignRight: Right}[a])
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		cells := make([][]Inline, len(t.Align))
		i := 0
		for cell := row.FirstChild(); cell != nil && i < len(cells); cell = cell.NextSibling() {
			cells[i] = c.inlines(cell, 0)
			i++
		}
		if _, ok := row.(*extast.TableHeader); ok {
			t.Head = cells
		} else {
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// inlines converts the content of n.
func (c *converter) inlines(n ast.Node, depth int) (in []Inline) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		in = c.inline(in, child, depth)
	}
	return in
}

// inline appends what n becomes to in. A node without a type of its own is replaced by its content.
func (c *converter) inline(in []Inline, n ast.Node, depth int) []Inline {
	if depth > mostDepth {
		return addText(in, string(n.Text(c.src))) //lint:ignore SA1019 what is left of marks without end has no lines of its own
	}
	switch n := n.(type) {
	case *ast.Text:
		words := c.resolve(n)
		in = addText(in, words)
		if _, broken := n.PreviousSibling().(*lineBreak); broken && words == "" {
			break // the line ends with <br>: one break is enough
		}
		if n.SoftLineBreak() || n.HardLineBreak() {
			in = append(in, Break{})
		}
	case *lineBreak:
		in = append(in, Break{})
	case *ast.String:
		in = addText(in, string(n.Value))
	case *ast.CodeSpan:
		in = append(in, c.span(n))
	case *styled:
		in = append(in, Styled{n.style, c.inlines(n, depth+1)})
	case *ast.Link:
		in = append(in, Link{URL: unescape(n.Destination), Text: c.inlines(n, depth+1)})
	case *ast.Image:
		in = append(in, Link{URL: unescape(n.Destination), Text: c.inlines(n, depth+1), Image: true})
	case *ast.AutoLink:
		in = append(in, Link{URL: string(n.URL(c.src)), Text: []Inline{Text(n.Label(c.src))}, Bare: true})
	case *extast.TaskCheckBox:
		c.task = OpenTask
		if n.IsChecked {
			c.task = DoneTask
		}
	default:
		for child := n.FirstChild(); child != nil; child = child.NextSibling() {
			in = c.inline(in, child, depth+1)
		}
	}
	return in
}

// addText appends to the last text if there is one.
func addText(in []Inline, s string) []Inline {
	if s == "" {
		return in
	}
	if last := len(in) - 1; last >= 0 {
		if t, ok := in[last].(Text); ok {
			in[last] = t + Text(s)
			return in
		}
	}
	return append(in, Text(s))
}

// resolve resolves backslashes and character references, and cleans the result: a reference can stand for a control
// character.
func (c *converter) resolve(n *ast.Text) string {
	value := n.Segment.Value(c.src)
	if n.IsRaw() || !bytes.ContainsAny(value, "\\&") {
		return string(value)
	}
	return unescape(value)
}

// unescape resolves backslashes and references in value, and removes characters that must not be shown.
func unescape(value []byte) string {
	var b bytes.Buffer
	w := bufio.NewWriterSize(&b, len(value)+16)
	html.DefaultWriter.Write(w, value)
	_ = w.Flush() // into memory
	var clean cleaner
	s := stdhtml.UnescapeString(b.String())
	return strings.ReplaceAll(clean.add(s)+clean.end(), "\n", " ")
}

// span converts code within a line. goldmark has removed one blank at both ends.
func (c *converter) span(n *ast.CodeSpan) Span {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		switch t := child.(type) {
		case *ast.Text:
			b.Write(t.Segment.Value(c.src))
		case *ast.String:
			b.Write(t.Value)
		}
	}
	return Span(strings.ReplaceAll(b.String(), "\n", " "))
}
