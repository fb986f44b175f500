package markdown

import "math"

// Unsplit is how all of d reads, laid out for limits but not split.
func Unsplit(doc Document, d Dialect, l Limits) string {
	r := layout{d: d, l: l}
	atoms := r.tail(doc.Pieces)
	part, _, _, _ := (&packer{d: &r.d}).next(atoms, math.MaxInt)
	return part.Plain
}

// Work is how many bytes were parsed and how many atoms were handled for r.
func (r *Renderer) Work() (parsed, atoms int) { return r.stream.reader.work, r.layout.work }

// Open reports whether d is an interim view.
func (d Document) Open() bool { return d.open }

// Undecided is where a text stops being shown, and where it may still change its meaning.
func Undecided(text string) (show, sure int, closers string) {
	var s Stream
	s.Append(text)
	v := undecided(s.seg.tail, s.seg.open)
	at := len(text) - len(s.seg.tail)
	return at + v.show, at + v.sure, v.closers
}
