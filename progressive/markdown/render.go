package markdown

import (
	"math"
	"slices"
	"strings"
)

// Render renders d in a dialect, in parts within limits. While a text grows, all parts of its intermediate views but
// the last are final, so messages already shown don't change. The cost is linear.
func Render(doc Document, d Dialect, l Limits) []Rendered {
	r := layout{d: d, l: l}
	r.read(doc.Pieces[:doc.stable])
	return r.parts(doc)
}

// Renderer renders a growing text, at the cost of the new text and the open part. Its results depend only on the
// arguments, not on earlier calls. It is not safe for concurrent use.
type Renderer struct {
	dialect Dialect
	limits  Limits
	text    string
	stream  Stream
	read    int // of the stream's stable pieces
	long    longCode
	layout  layout
	ended   *ended
}

// ended is what a text without its long code came to.
type ended struct {
	kept  []string
	parts []Rendered
	files []Attachment
}

// NewRenderer returns a renderer for a dialect and limits.
func NewRenderer(d Dialect, l Limits) *Renderer {
	r := &Renderer{dialect: d, limits: l}
	r.begin()
	return r
}

func (r *Renderer) begin() {
	r.stream, r.text, r.read, r.ended = Stream{}, "", 0, nil
	r.layout = layout{d: r.dialect, l: r.limits}
	r.long = longCode{d: &r.dialect, most: r.limits.Code, glance: min(r.limits.Code, r.limits.Length/2)}
}

// Render renders text; whole reports whether the text is complete.
func (r *Renderer) Render(text string, whole bool) []Rendered {
	if whole {
		parts, _ := r.Finish(text)
		return parts
	}
	r.goOn(text)
	d := r.stream.Interim()
	r.settle(d)
	return r.layout.parts(r.shorten(d))
}

// Finish renders a complete text. Code that is too long is moved to files, with a line for each in the text; the
// content of files with a name in kept stays in the text, too.
func (r *Renderer) Finish(text string, kept ...string) ([]Rendered, []Attachment) {
	if text != r.text {
		r.goOn(text)
	}
	if r.ended == nil || !slices.Equal(r.ended.kept, kept) {
		parts, files := r.finish(kept)
		r.ended = &ended{kept, parts, files}
	}
	return r.ended.parts, r.ended.files
}

func (r *Renderer) finish(kept []string) ([]Rendered, []Attachment) {
	d := r.stream.Whole()
	if r.limits.Code > 0 {
		if pieces, files := attach(d.Pieces, &r.dialect, r.limits.Code, kept); len(files) > 0 {
			return Render(Document{Pieces: pieces, stable: len(pieces)}, r.dialect, r.limits), files
		}
	}
	r.settle(d)
	return r.layout.parts(r.shorten(d)), nil
}

// goOn reads what text goes on with.
func (r *Renderer) goOn(text string) {
	if !strings.HasPrefix(text, r.text) {
		r.begin()
	}
	r.stream.Append(text[len(r.text):])
	r.text, r.ended = text, nil
}

// settle lays out the pieces of d that stay.
func (r *Renderer) settle(d Document) {
	stable := d.Pieces[r.read:d.stable]
	r.read = d.stable
	if r.limits.Code > 0 {
		stable = r.long.all(stable)
	}
	r.layout.read(stable)
}

// shorten returns what of d comes after the pieces that stay, without code that is too long. Of a block that is still open as
// much is shown as the last part has room for: it makes no part of its own.
func (r *Renderer) shorten(d Document) Document {
	d.Pieces, d.stable = d.Pieces[d.stable:], 0
	if r.limits.Code == 0 {
		return d
	}
	tail, sure := r.long, r.long
	d.Pieces, d.sure = tail.all(d.Pieces), sure.all(d.sure)
	if d.inCode {
		d.Pieces = append(d.Pieces, tail.open()...)
		return d
	}
	d.Pieces, d.sure = append(d.Pieces, tail.end()...), append(d.sure, sure.end()...)
	return d
}

// Fits reports whether m is within the limits.
func (r *Renderer) Fits(m Rendered) bool { return r.limits.within(r.dialect.measure(m.Text, m.Plain)) }

// Verbatim renders text literally, not as Markdown.
func (r *Renderer) Verbatim(text string) []Rendered {
	l := layout{d: r.dialect, l: r.limits}
	return l.parts(verbatim(text))
}

// Lines renders lines literally, like Verbatim, without limits.
func (r *Renderer) Lines(lines []string) (text, plain string) {
	l := layout{d: r.dialect}
	for _, p := range l.parts(verbatim(strings.Join(lines, "\n"))) {
		return p.Text, p.Plain
	}
	return "", ""
}

func verbatim(text string) Document {
	return Document{Pieces: []Piece{{Block: Paragraph{lines(text)}}}}
}

// layout is what was laid out of the pieces that stay.
type layout struct {
	d Dialect
	l Limits

	full  []Rendered // parts
	atoms []atom     // after them
	size  cost       // of atoms, at least
	carry carry
	spare []atom // room for those of a piece
	work  int    // atoms that were laid out or looked at
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

// lay lays out a piece. The atoms are good until the next one.
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
	r.spare = f.atoms
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

// parts is all of d. Previews are shown if all of it fits into one more part.
func (r *layout) parts(d Document) []Rendered {
	tail := r.tail(d.Pieces[d.stable:])
	atoms := append(slices.Clone(r.atoms), tail...)
	unsure := len(atoms)
	if d.open {
		unsure = len(r.atoms) + same(settled(r.tail(d.sure)), tail)
	}
	if d.open && slices.ContainsFunc(atoms, isPreview) {
		if parts, _ := r.pack(slices.Clip(r.full), slices.Clone(atoms), len(atoms), true); len(parts) <= len(r.full)+1 {
			return parts
		}
		unsure = len(withoutPreviews(slices.Clone(atoms[:unsure])))
		atoms = withoutPreviews(atoms)
	}
	parts, _ := r.pack(slices.Clip(r.full), atoms, unsure, true)
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
