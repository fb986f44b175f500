package markdown

import (
	"bytes"
	"regexp"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// runParser reads runs of the marks of styles: * and _ as CommonMark does, ~~ and || only in twos, since "5~10" means a
// range. Next to Chinese or Japanese, marks also work beside punctuation: such text has no blanks, so CommonMark's
// rules would leave many marks as they are.
type runParser struct{}

// Trigger implements [parser.InlineParser].
func (runParser) Trigger() []byte { return []byte("*_~|") }

// Parse implements [parser.InlineParser].
func (runParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	n := 1
	for n < len(line) && line[n] == line[0] {
		n++
	}
	after := ' '
	if n < len(line) {
		after = util.ToRune(line, n)
	}
	open, shut := sides(line[0], n, before, after)
	if !open && !shut {
		block.Advance(n)
		return ast.NewTextSegment(segment.WithStop(segment.Start + n))
	}
	d := parser.NewDelimiter(open, shut, n, line[0], styles{char: line[0]})
	d.Segment = segment.WithStop(segment.Start + n)
	block.Advance(n)
	pc.PushDelimiter(d)
	return d
}

// sides reports whether a run of n marks may open and close a style between two characters: CommonMark's left- and
// right-flanking runs.
func sides(mark byte, n int, before, after rune) (open, shut bool) {
	if (mark == '~' || mark == '|') && n != 2 {
		return false, false
	}
	blankBefore, blankAfter := util.IsSpaceRune(before), util.IsSpaceRune(after)
	softBefore := blankBefore || util.IsPunctRune(before) || ideographic(before)
	softAfter := blankAfter || util.IsPunctRune(after) || ideographic(after)
	left := !blankAfter && (softBefore || !util.IsPunctRune(after))
	right := !blankBefore && (softAfter || !util.IsPunctRune(before))
	if mark == '_' {
		return left && (!right || util.IsPunctRune(before)), right && (!left || util.IsPunctRune(after))
	}
	return left, right
}

// ideographic reports whether r belongs to a script without blanks between words.
func ideographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0xFF00 && r <= 0xFFEF
}

// styles tells goldmark which runs belong together, and makes nodes of them.
type styles struct{ char byte }

// styled is a node of a style.
type styled struct {
	ast.BaseInline
	style Kind
}

var kindStyled = ast.NewNodeKind("Styled")

// Kind implements [ast.Node].
func (*styled) Kind() ast.NodeKind { return kindStyled }

// Dump implements [ast.Node].
func (s *styled) Dump(source []byte, level int) { ast.DumpHelper(s, source, level, nil, nil) }

// IsDelimiter implements [parser.DelimiterProcessor].
func (s styles) IsDelimiter(c byte) bool { return c == s.char }

// CanOpenCloser implements [parser.DelimiterProcessor].
func (s styles) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch implements [parser.DelimiterProcessor].
func (s styles) OnMatch(consumes int) ast.Node {
	switch {
	case s.char == '~':
		return &styled{style: Strike}
	case s.char == '|':
		return &styled{style: Spoiler}
	case consumes > 1:
		return &styled{style: Strong}
	}
	return &styled{style: Emphasis}
}

// formulaParser keeps formulas within a line, \(…\), as they are written.
type formulaParser struct{}

// Trigger implements [parser.InlineParser].
func (formulaParser) Trigger() []byte { return []byte{'\\'} }

// Parse implements [parser.InlineParser].
func (formulaParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	n := formulaEnd(line)
	if n == 0 {
		return nil
	}
	block.Advance(n)
	return ast.NewRawTextSegment(segment.WithStop(segment.Start + n))
}

// formulaEnd returns the length of the formula that line begins with, 0 if there is none. Words in escaped parentheses
// are no formula, so it must have a digit or a sign, or be a single character.
func formulaEnd(line []byte) int {
	if len(line) < 3 || line[1] != '(' {
		return 0
	}
	n := bytes.Index(line[2:], []byte(`\)`))
	if n <= 0 || n > mostFormula || !bytes.ContainsAny(line[2:2+n], `\^_={}+<>0123456789`) && n > 1 {
		return 0
	}
	return n + 4
}

const mostFormula = 300 // bytes of a formula within a line

// breakParser reads <br>, which models write for a line break, above all in the cells of tables.
type breakParser struct{}

// Trigger implements [parser.InlineParser].
func (breakParser) Trigger() []byte { return []byte{'<'} }

// Parse implements [parser.InlineParser].
func (breakParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	tag := breakTag.Find(line)
	if tag == nil {
		return nil
	}
	block.Advance(len(tag))
	return &lineBreak{}
}

var (
	breakTag  = regexp.MustCompile(`^(?i:<br *(?:/ *)?>)`)
	breakOpen = regexp.MustCompile(`^(?i:<(?:b(?:r *(?:/ *)?)?)?)$`) // text that may become one
)

// lineBreak is a <br>.
type lineBreak struct{ ast.BaseInline }

var kindLineBreak = ast.NewNodeKind("LineBreak")

// Kind implements [ast.Node].
func (*lineBreak) Kind() ast.NodeKind { return kindLineBreak }

// Dump implements [ast.Node].
func (n *lineBreak) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }
