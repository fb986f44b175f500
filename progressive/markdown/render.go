package markdown

import (
	"math"
	"slices"
	"strings"
	"sync"
)

// Renderer renders a growing text in a dialect, in parts within limits. Its results depend only on the arguments, not
// on earlier calls, but a text that continues the last one costs only the new and the open part. While it grows, all
// parts but the last are final, so messages already shown don't change. It is not safe for concurrent use.
type Renderer struct {
	dialect Dialect
	limits  Limits
	text    string
	stream  *stream
	long    longCode
	layout  pages
}

// pages makes parts of pieces: read takes those that stay, and parts returns all parts of a text that ends with e.
type pages interface {
	read(stable []Piece)
	parts(e ending) []Rendered
}

// NewRenderer returns a renderer for a dialect and limits.
func NewRenderer(d Dialect, l Limits) *Renderer {
	r := &Renderer{dialect: d, limits: l}
	r.begin(nil)
	return r
}

// begin forgets the text, for another one.
func (r *Renderer) begin(kept []string) {
	r.text, r.stream, r.layout = "", newStream(r.settle), &layout{d: r.dialect, l: r.limits}
	if r.dialect.Blocks != nil {
		r.layout = &blockLayout{d: &r.dialect, l: r.limits}
	}
	r.long = longCode{d: &r.dialect, most: r.limits.Code, kept: kept, glance: min(r.limits.Code, r.limits.Length/2)}
}

// Render renders text as far as it has come; whole reports whether it is complete. An unfinished text is shown with its
// open styles closed, and without an end whose meaning is not known yet.
func (r *Renderer) Render(text string, whole bool) []Rendered {
	if whole {
		parts, _ := r.Finish(text)
		return parts
	}
	r.goOn(text, nil)
	e, _ := r.shorten(r.stream.interim())
	return r.layout.parts(e)
}

// Finish renders a complete text. Code that is too long is moved to files, with a line for each in the text; the
// content of files with a name in kept stays in the text, too.
func (r *Renderer) Finish(text string, kept ...string) ([]Rendered, []Attachment) {
	r.goOn(text, kept)
	e, files := r.shorten(r.stream.whole())
	return r.layout.parts(e), files
}

// goOn reads the rest of text if it continues the last one, and otherwise all of it.
func (r *Renderer) goOn(text string, kept []string) {
	if !strings.HasPrefix(text, r.text) || !slices.Equal(r.long.kept, kept) {
		r.begin(kept)
	}
	r.stream.add(text[len(r.text):])
	r.text = text
}

// settle lays out pieces that nothing further changes.
func (r *Renderer) settle(stable []Piece) {
	if r.limits.Code > 0 {
		stable = r.long.all(stable)
	}
	r.layout.read(stable)
}

// shorten takes code that is too long out of e. Of a block that is still open as much is shown as the last part has
// room for: it makes no part of its own. The state of r.long is forked, because e is not final.
func (r *Renderer) shorten(e ending) (ending, []Attachment) {
	if r.limits.Code == 0 {
		return e, nil
	}
	tail, sure := r.long.fork(), r.long.fork()
	e.pieces, e.sure = tail.all(e.pieces), sure.all(e.sure)
	if e.inCode {
		e.pieces = append(e.pieces, tail.open()...)
		return e, nil
	}
	e.pieces, e.sure = append(e.pieces, tail.end()...), append(e.sure, sure.end()...)
	if e.open {
		return e, nil
	}
	return e, tail.attachments()
}

// Fits reports whether m is within the limits.
func (r *Renderer) Fits(m Rendered) bool {
	if r.dialect.Blocks != nil && m.Text != "" {
		length, blocks := r.dialect.Blocks.Measure(m.Text)
		return r.limits.within(cost{length: length, entities: blocks})
	}
	return r.limits.within(r.dialect.measure(m.Text, m.Plain))
}

// Verbatim renders text literally, not as Markdown, in parts within the limits.
func (r *Renderer) Verbatim(text string) []Rendered {
	if r.dialect.Blocks != nil {
		b := blockLayout{d: &r.dialect, l: r.limits}
		return b.verbatim(text)
	}
	l := layout{d: r.dialect, l: r.limits}
	return l.parts(verbatim(text))
}

// Lines renders lines literally, like Verbatim, without limits.
func (r *Renderer) Lines(lines []string) (text, plain string) {
	if r.dialect.Blocks != nil {
		return r.dialect.Blocks.Lines(lines), strings.Join(lines, "\n")
	}
	l := layout{d: r.dialect}
	for _, p := range l.parts(verbatim(strings.Join(lines, "\n"))) {
		return p.Text, p.Plain
	}
	return "", ""
}

func verbatim(text string) ending { return ending{pieces: []Piece{{Block: Paragraph{lines(text)}}}} }

// layout contains the output of the final pieces: full parts, and the atoms after them.
type layout struct {
	d Dialect
	l Limits

	full  []Rendered // parts
	atoms []atom     // after them
	size  cost       // of atoms, at least
	carry carry
	spare []atom // room for those of a piece, while there is something to lay out; see [layout.borrow]
	used  int    // of spare, at most
	work  int    // atoms that were laid out or looked at
}

// read lays out further pieces that stay, and makes parts as soon as there is more than one part holds. Previews are
// dropped then: there is no room for them.
func (r *layout) read(pieces []Piece) {
	defer r.giveBack(r.borrow())
	for _, p := range pieces {
		var atoms []atom
		atoms, r.carry = r.lay(p, r.carry)
		for i := range atoms {
			r.size = r.size.plus(atoms[i].cost)
		}
		r.atoms = append(r.atoms, atoms...)
		if !r.l.within(r.size) {
			var rest []atom
			r.full, rest = r.pack(r.full, withoutPreviews(r.atoms), math.MaxInt, false)
			r.atoms = append(r.atoms[:0], rest...)
			r.size = cost{}
			for i := range r.atoms {
				r.size = r.size.plus(r.atoms[i].cost)
			}
		}
	}
}

func withoutPreviews(atoms []atom) []atom { return slices.DeleteFunc(atoms, isPreview) }

func isPreview(a atom) bool { return a.preview }

// lay lays out a piece. The atoms are valid until the next call.
func (r *layout) lay(p Piece, c carry) ([]atom, carry) {
	f := flow{d: &r.d, l: r.l, atoms: r.spare[:0], carry: c, goesOn: p.Joint != Apart && cuttable(p.Block)}
	f.joint(p.Joint)
	f.block(p.Block)
	if r.d.Width > 0 {
		f.wrap()
	}
	for i := range f.atoms {
		f.atoms[i].preview = p.preview
	}
	r.work += len(f.atoms)
	r.spare, r.used = f.atoms, max(r.used, len(f.atoms))
	return f.atoms, f.carry
}

// cuttable reports whether b may be a piece of a longer block of its kind.
func cuttable(b Block) bool {
	switch b.(type) {
	case Code, Table:
		return true
	}
	return false
}

// pack makes parts of atoms. The atoms that don't fill a part become one only if all is set. Atoms from unsure on may
// still change, so they never begin another part.
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

// parts returns all parts of a text that ends with e. While it is open, previews are shown if all of it fits into one
// more part.
func (r *layout) parts(e ending) []Rendered {
	b := r.borrow()
	defer r.giveBack(b)
	b.atoms = r.tail(append(b.atoms, r.atoms...), e.pieces)
	atoms := b.atoms
	unsure := len(atoms)
	if e.open {
		b.sure = r.tail(b.sure, e.sure)
		unsure = len(r.atoms) + same(settled(b.sure), atoms[len(r.atoms):])
	}
	if slices.ContainsFunc(atoms, isPreview) {
		if e.open {
			if parts, _ := r.pack(slices.Clip(r.full), slices.Clone(atoms), len(atoms), true); len(parts) <= len(r.full)+1 {
				return parts
			}
		}
		unsure = len(withoutPreviews(slices.Clone(atoms[:unsure])))
		atoms = withoutPreviews(atoms)
	}
	parts, _ := r.pack(slices.Clip(r.full), atoms, unsure, true)
	return parts
}

// buffer holds the atoms of a text, which are not needed any more once its parts are made. Buffers are pooled, because
// each frame of each stream needs one.
type buffer struct{ atoms, sure, spare []atom }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// borrow returns a buffer, whose spare atoms are used until it is given back.
func (r *layout) borrow() *buffer {
	b := buffers.Get().(*buffer)
	r.spare, r.used = b.spare, 0
	return b
}

// giveBack empties b and returns it to the pool.
func (r *layout) giveBack(b *buffer) {
	clear(b.atoms)
	clear(b.sure)
	clear(r.spare[:r.used])
	b.atoms, b.sure, b.spare = b.atoms[:0], b.sure[:0], r.spare[:0]
	r.spare = nil
	buffers.Put(b)
}

// tail adds the atoms of pieces.
func (r *layout) tail(atoms []atom, pieces []Piece) []atom {
	c := r.carry
	for _, p := range pieces {
		var more []atom
		more, c = r.lay(p, c)
		atoms = append(atoms, more...)
	}
	return atoms
}

// settled is atoms without the rows at the end of a table, or the quote, that may still be shown in another way.
func settled(atoms []atom) []atom {
	n := len(atoms)
	for n > 0 && atoms[n-1].loose {
		n--
	}
	return atoms[:n]
}

// same returns how many atoms a and b have in common at their beginning.
func same(a, b []atom) (n int) {
	for n < len(a) && n < len(b) && a[n].equal(&b[n]) {
		n++
	}
	return n
}

// equal reports whether a and b are written alike, in the same marks and with the same margin. Atoms of two layouts
// have frames of their own, so pointers differ.
func (a *atom) equal(b *atom) bool {
	return a.written == b.written && a.read == b.read && a.lines == b.lines && a.cut == b.cut &&
		a.frame.equal(b.frame) && (a.margin == b.margin || a.margin != nil && b.margin != nil && a.margin.written == b.margin.written)
}

// equal compares the marks around two atoms, from the innermost.
func (f *frame) equal(g *frame) bool {
	for f != g {
		if f == nil || g == nil || f.markup != g.markup {
			return false
		}
		f, g = f.parent, g.parent
	}
	return true
}
