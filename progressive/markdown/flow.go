package markdown

import "strings"

// quality is how good a place is for the end of a part; higher is better. never is inside of text that must stay
// together.
type quality uint8

const (
	never quality = iota
	character
	word
	sentence
	lineEnd
	paragraph
	qualities

	anyCut = paragraph // the best there is
)

// atom is a word, blanks, or markup on its own, and how it is connected with the atom before it. Atoms are the
// units that the packer puts into parts. There is one for every word of an answer, so its size matters.
type atom struct {
	written, read string
	run           string // the words it is cut from; the atom is run[at:end]; empty if it can't be cut
	at, end       int
	place         Place
	frame         *frame
	margin        *margin
	lines         int     // newlines before it
	cut           quality // of the place before it
	blank         bool
	loose         bool // of the last rows of a table, or of a short quote: more of them may change it
	preview       bool // it is shown for now, where there is room
	cost          cost
}

// margin is the beginning of each line: the marks of quotes, and the indent of items. Margins are linked to the one
// around them and never changed, so atoms can share them.
type margin struct {
	parent        *margin
	depth         int
	written, read string // all of it
	quotes        string // all of it that is written at the top of a part
	quotesRead    string
}

// with returns a margin within m. The mark of a quote is repeated at the top of a part, an item's indent is not.
func (m *margin) with(written, read string, quote bool) *margin {
	n := &margin{parent: m, depth: 1, written: written, read: read}
	if m != nil {
		n.depth = m.depth + 1
		n.written, n.read = m.written+written, m.read+read
		n.quotes, n.quotesRead = m.quotes, m.quotesRead
	}
	if quote {
		n.quotes, n.quotesRead = n.quotes+written, n.quotesRead+read
	}
	return n
}

func (m *margin) level() int {
	if m == nil {
		return 0
	}
	return m.depth
}

// common returns the margin that a and b share. Blank lines between them have that one.
func common(a, b *margin) *margin {
	for a.level() > b.level() {
		a = a.parent
	}
	for b.level() > a.level() {
		b = b.parent
	}
	for a != b {
		a, b = a.parent, b.parent
	}
	return a
}

// flow lays blocks out as atoms. It is made for one piece; carry connects it with the one before, so that a piece is
// laid out in the same way whether or not those before it were laid out just now.
type flow struct {
	d *Dialect
	l Limits

	atoms  []atom
	frame  *frame
	margin *margin
	lines  int  // newlines before the next atom
	goesOn bool // the block that is laid out continues the last piece
	carry
}

// carry is the state between one piece and the next. It is copied, so that the open end can be laid out again and again
// from the same point.
type carry struct {
	some      bool    // there was an atom before
	cut       quality // the best that the next atom may have
	codeBlock *frame  // the last one
	blanks    int     // lines at its end
	wide      bool    // the last table was too wide for columns
	number    int     // of its rows
}

// gap starts a new line, or with 2 a new paragraph, before the next atom.
func (f *flow) gap(lines int) {
	if f.some {
		f.lines = max(f.lines, lines)
	}
}

// push adds an atom.
func (f *flow) push(a atom) {
	a.frame, a.margin, a.lines = f.frame, f.margin, f.lines
	switch {
	case f.lines > 1:
		a.cut = paragraph
	case f.lines == 1:
		a.cut = lineEnd
	}
	a.cut = min(a.cut, f.cut)
	a.cost = f.d.measure(a.written, a.read)
	f.lines, f.cut, f.some = 0, anyCut, true
	f.atoms = append(f.atoms, a)
}

// markup adds markup that is an atom of its own, such as a bullet. The next atom stays with it.
func (f *flow) markup(written, read string) {
	f.push(atom{written: written, read: read})
	f.cut = never
}

// in lays out what g does within a mark, or without it where the platform has none. A further piece of a block of code
// continues its frame, so that the packer does not close and open it in between.
func (f *flow) in(m Mark, g func()) {
	if !f.may(m.Kind) {
		g()
		return
	}
	outer := f.frame
	if f.goesOn && f.codeBlock != nil && f.codeBlock.mark == m && outer == f.codeBlock.parent {
		f.frame = f.codeBlock
		g()
		f.frame = outer
		return
	}
	w, ok := f.d.Mark(m)
	if !ok {
		g()
		return
	}
	// The cost of closing is computed once: the packer adds it for every atom in the frame.
	n := &frame{parent: outer, mark: m, markup: w, depth: outer.level() + 1, styles: outer.cut()}
	if m.Kind <= Spoiler {
		n.styles++
	}
	n.shut = f.d.measure(w.Shut, "")
	if outer != nil {
		n.shut = n.shut.plus(outer.shut)
	}
	if f.frame = n; m.Kind == CodeBlock {
		f.codeBlock = n
	}
	g()
	f.frame = outer
}

// may reports whether a mark of kind k adds something here and is possible: no mark within itself, none within code,
// and only those that the dialect allows.
func (f *flow) may(k Kind) bool {
	for o := f.frame; o != nil; o = o.parent {
		if o.mark.Kind == k || o.code() || f.d.Holds != nil && !f.d.Holds(o.mark.Kind, k) {
			return false
		}
	}
	return true
}

// pieces lays out the blocks in a block.
func (f *flow) pieces(all []Piece) {
	for i, p := range all {
		if i > 0 {
			f.joint(p.Joint)
		}
		f.block(p.Block)
	}
}

// joint puts the distance before the next atom that j asks for.
func (f *flow) joint(j Joint) {
	switch j {
	case Apart:
		f.gap(2)
	case NextLine:
		f.gap(1)
	}
}

// block lays out a block.
func (f *flow) block(b Block) {
	switch b := b.(type) {
	case Paragraph:
		f.inlines(b.Text)
	case Heading:
		f.heading(b)
	case Rule:
		f.markup(f.d.Rule, f.d.RuleReads)
		f.cut = anyCut
	case Code:
		f.code(b)
	case Math:
		f.inlines(lines(b.Text))
	case Quote:
		f.quote(b)
	case List:
		f.list(b)
	case Table:
		f.table(b)
	}
}

// heading lays out a heading. The end of a part right after it is worse than one before it, so that it stays with what
// it is the heading of.
func (f *flow) heading(h Heading) {
	before, marks := f.d.Heading(h.Level)
	if before != "" && len(h.Text) > 0 {
		f.markup(before, "")
	}
	g := func() { f.inlines(h.Text) }
	for _, k := range marks {
		inner := g
		g = func() { f.in(Mark{Kind: k}, inner) }
	}
	from := len(f.atoms)
	if g(); len(f.atoms) > from {
		f.cut = word // the next atom stays with its heading
	}
}

// quote lays out a quote: with a mark, or with a prefix before each line where the platform has no mark.
func (f *flow) quote(q Quote) {
	if _, ok := f.d.Mark(Mark{Kind: QuoteBlock}); ok {
		from := len(f.atoms)
		f.in(Mark{Kind: QuoteBlock}, func() { f.pieces(apart(q.Blocks)) })
		f.lengthen(from)
		return
	}
	f.inside(f.d.QuotePrefix, f.d.QuoteReads, true, func() { f.pieces(apart(q.Blocks)) })
}

// A quote is long if it has more than longQuote units, or longQuoteLines lines: about a third of the height of a phone.
const (
	longQuote      = 500
	longQuoteLines = 10
)

// lengthen marks the quote whose atoms begin at from as long if it is. Its frame was made just now, so nothing else shares it yet.
func (f *flow) lengthen(from int) {
	units, lines := 0, 0
	for _, a := range f.atoms[from:] {
		units, lines = units+a.cost.read, lines+a.lines
	}
	if units <= longQuote && lines < longQuoteLines {
		f.loosen(from) // more text may make it long
		return
	}
	for n := f.atoms[from].frame; n != nil; n = n.parent {
		if n.mark.Kind == QuoteBlock {
			n.mark.Long = true
			n.markup, _ = f.d.Mark(n.mark)
			return
		}
	}
}

// apart returns blocks with a blank line between each.
func apart(all []Piece) []Piece {
	out := make([]Piece, len(all))
	for i, p := range all {
		out[i].Block = p.Block
	}
	return out
}

// inside lays out what g does with a longer margin, as long as there is room for it.
func (f *flow) inside(written, read string, quote bool, g func()) {
	outer := f.margin
	if outer.level() < mostDepth {
		m := outer.with(written, read, quote)
		if f.l.Length == 0 || f.d.Units(m.written) <= f.l.Length/8 {
			f.margin = m
		}
	}
	g()
	f.margin = outer
}

// list lays out items. Their further lines are indented by the width of the bullet.
func (f *flow) list(l List) {
	for i, it := range l.Items {
		if i > 0 {
			f.joint(it.Joint)
		}
		written, read := f.d.Bullet(l.Start+i, l, it.Task)
		f.markup(written, read)
		f.inside(spaces(f.d.Units(written)), spaces(f.d.Units(read)), false, func() { f.pieces(it.Blocks) })
		f.cut = anyCut
	}
}

func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

// code lays a block of code out. It is on lines of its own, without the indentation of an item: users copy it.
func (f *flow) code(c Code) {
	if strings.TrimSpace(c.Text) == "" && !f.goesOn {
		return
	}
	f.verbatim(c.Language, strings.ReplaceAll(c.Text, "\t", f.d.Tab))
}

// verbatim lays text out by lines, as code. Blank lines at the end are counted and not laid out: they matter only if a
// further piece of the block follows.
func (f *flow) verbatim(language, text string) {
	if m := f.margin; m != nil {
		f.margin = &margin{parent: m.parent, depth: m.depth, written: m.quotes, read: m.quotesRead, quotes: m.quotes, quotesRead: m.quotesRead}
		defer func() { f.margin = m }()
	}
	if f.goesOn {
		f.lines += f.blanks
	} else {
		f.gap(1)
	}
	f.blanks = 0
	f.in(Mark{Kind: CodeBlock, Info: language}, func() {
		began := f.goesOn
		for i, line := range strings.Split(text, "\n") {
			if i > 0 && began {
				f.lines++
				f.blanks++
			}
			if line != "" {
				f.words(line, Place{InCode: true})
				began, f.blanks = true, 0
			}
		}
	})
	f.lines = 0
	f.gap(1)
}
