package markdown

import (
	"math"
	"slices"
	"strings"
)

// Render writes d in a dialect, in parts within limits. While a text grows, all parts of its interim views but the last
// are parts of whatever it becomes (ST-19). The cost is linear.
func Render(doc Document, d Dialect, l Limits) []Rendered {
	r := layout{d: d, l: l}
	r.read(doc.Pieces[:doc.stable])
	return r.parts(doc)
}

// Renderer renders a text that grows, at the cost of what is new and of the open part. What it returns depends only on
// the arguments, not on what was rendered before. Not safe for concurrent use.
type Renderer struct {
	dialect Dialect
	limits  Limits
	text    string
	stream  Stream
	layout  layout
}

// NewRenderer returns a renderer into parts of a dialect within limits.
func NewRenderer(d Dialect, l Limits) *Renderer {
	return &Renderer{dialect: d, limits: l, layout: layout{d: d, l: l}}
}

// Render renders text; whole says that nothing more will follow.
func (r *Renderer) Render(text string, whole bool) []Rendered {
	if !strings.HasPrefix(text, r.text) {
		r.stream, r.text, r.layout = Stream{}, "", layout{d: r.dialect, l: r.limits}
	}
	r.stream.Append(text[len(r.text):])
	r.text = text
	doc := r.stream.Interim
	if whole {
		doc = r.stream.Whole
	}
	d := doc()
	r.layout.read(d.Pieces[r.layout.pieces:d.stable])
	return r.layout.parts(d)
}

// Lines writes lines as they are, whatever marks are in them, in the dialect and plain: they are no Markdown. It knows no
// limit.
func (r *Renderer) Lines(lines []string) (text, plain string) {
	var words []Inline
	for i, line := range lines {
		if i > 0 {
			words = append(words, Break{})
		}
		words = append(words, Text(line))
	}
	l := layout{d: r.dialect}
	for _, p := range l.parts(Document{Pieces: []Piece{{Block: Paragraph{Text: words}}}}) {
		return p.Text, p.Plain
	}
	return "", ""
}

// layout is what was laid out of the pieces that stay.
type layout struct {
	d Dialect
	l Limits

	full   []Rendered // parts
	atoms  []atom     // after them
	size   cost       // of atoms, at least
	carry  carry
	pieces int // that were read
	work   int // atoms that were laid out or looked at
}

// read goes on with pieces that stay.
func (r *layout) read(pieces []Piece) {
	for _, p := range pieces {
		var atoms []atom
		atoms, r.carry = r.lay(p, r.carry)
		for i := range atoms {
			r.size = r.size.plus(atoms[i].cost)
		}
		r.atoms = append(r.atoms, atoms...)
		r.pieces++
		if !r.l.within(r.size) {
			r.full, r.atoms = r.pack(r.full, r.atoms, math.MaxInt, false)
			r.size = cost{}
			for i := range r.atoms {
				r.size = r.size.plus(r.atoms[i].cost)
			}
		}
	}
}

// lay lays out a piece.
func (r *layout) lay(p Piece, c carry) ([]atom, carry) {
	f := flow{d: &r.d, l: r.l, carry: c, goesOn: p.Joint != Apart && cuttable(p.Block)}
	f.joint(p.Joint)
	f.block(p.Block)
	if r.d.Width > 0 {
		f.wrap()
	}
	r.work += len(f.atoms)
	return f.atoms, f.carry
}

// cuttable says that b may be a piece of a longer block of its kind.
func cuttable(b Block) bool {
	switch b.(type) {
	case Code, Table:
		return true
	}
	return false
}

// pack makes parts of atoms; of what does not fill a part only with all.
func (r *layout) pack(parts []Rendered, atoms []atom, unsure int, all bool) ([]Rendered, []atom) {
	p := packer{&r.d, r.l}
	for {
		for len(atoms) > 0 && atoms[0].droppable() {
			atoms, unsure = atoms[1:], unsure-1
		}
		if len(atoms) == 0 {
			return parts, nil
		}
		part, n, rest, full := p.next(atoms, unsure)
		r.work += n
		if !full && !all {
			return parts, atoms
		}
		parts = append(parts, part)
		if rest != nil {
			atoms[n] = *rest
		}
		atoms, unsure = atoms[n:], unsure-n
	}
}

// parts is all of d.
func (r *layout) parts(d Document) []Rendered {
	atoms := slices.Clone(r.atoms)
	tail := r.tail(d.Pieces[d.stable:])
	unsure := math.MaxInt
	if d.open {
		unsure = len(atoms) + same(settled(r.tail(d.sure)), tail)
	}
	parts, _ := r.pack(slices.Clip(r.full), append(atoms, tail...), unsure, true)
	return parts
}

func (r *layout) tail(pieces []Piece) (atoms []atom) {
	c := r.carry
	for _, p := range pieces {
		var more []atom
		more, c = r.lay(p, c)
		atoms = append(atoms, more...)
	}
	return atoms
}

// settled is atoms without the rows at the end of a table that may still be shown in another way.
func settled(atoms []atom) []atom {
	n := len(atoms)
	for n > 0 && atoms[n-1].loose {
		n--
	}
	return atoms[:n]
}

// same counts the atoms that a and b begin with.
func same(a, b []atom) (n int) {
	for n < len(a) && n < len(b) && a[n].equal(&b[n]) {
		n++
	}
	return n
}

func (a *atom) equal(b *atom) bool {
	return a.written == b.written && a.read == b.read && a.lines == b.lines && a.cut == b.cut &&
		a.frame.equal(b.frame) && (a.margin == b.margin || a.margin != nil && b.margin != nil && a.margin.written == b.margin.written)
}

func (f *frame) equal(g *frame) bool {
	for f != g {
		if f == nil || g == nil || f.markup != g.markup {
			return false
		}
		f, g = f.parent, g.parent
	}
	return true
}
