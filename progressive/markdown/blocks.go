package markdown

import (
	"slices"
	"strings"
)

// Blocks is the notation of a platform whose messages are lists of blocks, such as headings and tables, and not one text with marks.
// Its functions are pure.
type Blocks struct {
	// Write returns the notation of the pieces of one part, with a blank line between two blocks, or "" if none of them is visible.
	// length and blocks are at least those that Measure returns. They never shrink while a piece grows, and a single piece is within the limits.
	Write func(pieces []Piece) (text string, length, blocks int)
	// Measure returns the length of the visible text of a notation, in the dialect's units, and the number of its blocks, including
	// those within others.
	Measure func(text string) (length, blocks int)
	// Lines returns the notation of lines about calls.
	Lines func(lines []string) string
}

// blockLayout makes parts of whole pieces: a part ends before the first piece that does not fit.
type blockLayout struct {
	d    *Dialect
	l    Limits
	full []Rendered
	last openPart
}

// openPart is a part that may get further pieces.
type openPart struct {
	pieces []Piece
	size   cost
}

func (b *blockLayout) read(stable []Piece) {
	for _, p := range shortTables(stable) {
		grown, ok := b.with(b.last, p)
		if !ok {
			b.full = b.write(b.full, withoutPreview(b.last.pieces))
			grown, _ = b.with(openPart{}, p)
		}
		b.last = grown
	}
}

// parts returns the parts of a text with an ending. Only a piece that will stay too large for the last part begins another one: otherwise
// the part before would change again.
func (b *blockLayout) parts(e ending) []Rendered {
	parts, last := slices.Clip(b.full), b.last
	last.pieces = slices.Clip(last.pieces)
	sure := shortTables(e.sure)
	for i, p := range shortTables(e.pieces) {
		grown, ok := b.with(last, p)
		if !ok {
			if e.open && i >= len(sure) { // it may still become something else
				break
			}
			if e.open {
				if grown, ok = b.with(last, sure[i]); ok {
					last = grown
					break
				}
			}
			parts = b.write(parts, withoutPreview(last.pieces))
			grown, _ = b.with(openPart{}, p)
		}
		last = grown
	}
	if !e.open {
		last.pieces = withoutPreview(last.pieces)
	}
	return b.write(parts, last.pieces)
}

// with returns last with p, and whether there is room for it. An empty part always has room.
func (b *blockLayout) with(last openPart, p Piece) (grown openPart, ok bool) {
	_, length, blocks := b.d.Blocks.Write([]Piece{p})
	length++ // a newline, if it is joined to the last
	if n := len(last.pieces); n > 0 && isList(last.pieces[n-1]) && isList(p) {
		blocks-- // one with the last
	}
	grown = openPart{append(last.pieces, p), last.size.plus(cost{length: length, entities: blocks})}
	return grown, len(last.pieces) == 0 || b.l.within(grown.size)
}

func isList(p Piece) bool {
	_, ok := p.Block.(List)
	return ok
}

// mostRows is the number of rows in one piece.
const mostRows = 200

// shortTables returns pieces with long tables cut.
func shortTables(pieces []Piece) (out []Piece) {
	for _, p := range pieces {
		t, ok := p.Block.(Table)
		for ok && len(t.Rows) > mostRows {
			out = append(out, Piece{Block: Table{t.Align, t.Head, t.Rows[:mostRows]}, Joint: p.Joint})
			t.Rows, p.Joint = t.Rows[mostRows:], NextLine
			p.Block = t
		}
		out = append(out, p)
	}
	return out
}

// write appends a part, unless nothing of it is visible.
func (b *blockLayout) write(parts []Rendered, pieces []Piece) []Rendered {
	if text, _, _ := b.d.Blocks.Write(pieces); text != "" {
		parts = append(parts, Rendered{text, PlainText(pieces...)})
	}
	return parts
}

// verbatim returns text literally, in parts.
func (b *blockLayout) verbatim(text string) (parts []Rendered) {
	plain := layout{d: Plain(), l: Limits{Length: b.l.Length}}
	for _, p := range plain.parts(verbatim(text)) {
		parts = b.write(parts, verbatim(p.Plain).pieces)
	}
	return parts
}

func withoutPreview(pieces []Piece) []Piece {
	return slices.DeleteFunc(slices.Clone(pieces), func(p Piece) bool { return p.preview })
}

// PlainText returns the visible text of pieces.
func PlainText(pieces ...Piece) string {
	l := layout{d: Plain()}
	for _, p := range l.parts(ending{pieces: pieces}) {
		return p.Plain // without limits there is only one
	}
	return ""
}

// Shown returns the words of l, and the address to put behind them. It is empty if d has no link to it, or users must see it: then it is among
// the words.
func (l Link) Shown(d *Dialect) (words []Inline, url string) {
	label := strings.TrimSpace(flat(l.Text, false))
	seen := l.Bare || label == "" || sameAddress(label, l.URL)
	if words = l.Text; seen && !l.Bare {
		words = []Inline{Text(strings.TrimPrefix(l.URL, "mailto:"))}
	}
	switch {
	case d.Links(l.URL) && len(l.URL) <= mostURL && (seen || !deceives(label, l.URL)):
		return words, l.URL
	case seen || l.URL == "":
		return words, ""
	}
	return append(slices.Clip(words), Text(" ("+strings.TrimPrefix(l.URL, "mailto:")+")")), ""
}
