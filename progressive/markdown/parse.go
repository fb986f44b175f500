package markdown

import (
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	source "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The bounds of one segment: beyond them parsers become slow, so it is read as plain words.
const (
	mostNesting  = 12  // marks of quotes and lists at the beginning of a line
	mostBrackets = 400 // opening brackets, or escaped uprights
	mostRuns     = 1500
)

// reader parses segments. It is used by one goroutine.
type reader struct {
	blocks parser.Parser
	work   int // bytes that were parsed
}

// newReader returns a reader of GFM with spoilers, without raw HTML except <br>, which is shown as text, and without
// definitions of links: references to them may have been shown already.
func newReader() *reader { return &reader{blocks: blocks()} }

// blocks returns the one parser of all readers: it keeps no state of the text.
var blocks = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(formulaParser{}, 50),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(breakParser{}, 400),
			util.Prioritized(addressParser{}, 400),
			util.Prioritized(runParser{}, 500),
			util.Prioritized(extension.NewLinkifyParser(extension.WithLinkifyURLRegexp(noForm)), 999),
		),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
})

// noForm matches nothing: addressParser reads addresses with a scheme, and linkify those that begin with www, and those of e-mail.
var noForm = regexp.MustCompile(`^\b\B`)

// read makes blocks of a segment. Code, formulas and words need no parser.
func (r *reader) read(s segment) []Piece {
	r.work += len(s.text)
	switch {
	case s.mode == inCode:
		return []Piece{{Block: Code{s.language, s.text, s.nested}, Joint: s.joint}}
	case s.mode == inMath:
		return []Piece{{Block: Math{s.text}, Joint: s.joint}}
	case s.text == "":
		return nil
	case s.mode == inWords || wild(s.text):
		return []Piece{{Block: Paragraph{lines(s.text)}, Joint: s.joint}}
	}
	text := s.head + s.text + "\n"
	if strings.Contains(text, " \t") {
		text = mixed.ReplaceAllStringFunc(text, spaced)
	}
	if s.mode == inTable {
		text = keepUprights(text)
	}
	src := []byte(text)
	c := converter{src: src, number: s.number}
	pieces := c.blocks(r.blocks.Parse(source.NewReader(src)), 0)
	if len(pieces) > 0 {
		pieces[0].Joint = s.joint
	}
	return pieces
}

// mixed finds indents with a tab behind a space, whose columns goldmark counts wrongly.
var mixed = regexp.MustCompile(`(?m)^\t* [ \t]*\t`)

// spaced returns an indent in spaces. A tab reaches to the next multiple of four columns.
func spaced(indent string) string {
	columns := 0
	for _, c := range indent {
		if columns++; c == '\t' {
			columns = (columns + 3) / 4 * 4
		}
	}
	return strings.Repeat(" ", columns)
}

// keepUprights escapes the uprights in code in the rows of a table. Models forget that, and the cells behind them would
// be lost.
func keepUprights(rows string) string {
	if !strings.Contains(rows, "`") {
		return rows
	}
	var b strings.Builder
	for line := range strings.Lines(rows) {
		inCode := false
		for i := range len(line) {
			switch c := line[i]; {
			case c == '`':
				inCode = !inCode && strings.Contains(line[i+1:], "`")
			case c == '|' && inCode && line[i-1] != '\\':
				b.WriteByte('\\')
			}
			b.WriteByte(line[i])
		}
	}
	return b.String()
}

// wild reports whether parsing text would cost more than it is worth: some constructs take quadratic time, which
// hostile input uses.
func wild(text string) bool {
	if strings.Count(text, "[") > mostBrackets || strings.Count(text, `\|`) > mostBrackets || runs(text) > mostRuns {
		return true
	}
	for line := range strings.Lines(text) {
		if _, n := peel(line); n > mostNesting {
			return true
		}
	}
	return false
}

// runs returns the number of runs of marks that may begin or end something.
func runs(text string) (n int) {
	for i := range len(text) {
		if strings.IndexByte("*_~|`", text[i]) >= 0 && (i == 0 || text[i-1] != text[i]) {
			n++
		}
	}
	return n
}

// lines returns text literally, as inlines.
func lines(text string) (in []Inline) {
	for line := range strings.SplitSeq(text, "\n") {
		if in != nil {
			in = append(in, Break{})
		}
		in = append(in, Text(line))
	}
	return in
}
