package markdown

import "math"

// Document is a text that was parsed.
type Document struct {
	Pieces []Piece
	stable int // of them
	ending
}

// Stable is how many of Pieces stay the same whatever text follows.
func (d Document) Stable() int { return d.stable }

// Open reports whether d is an interim view.
func (d Document) Open() bool { return d.open }

// Stream parses a growing text.
type Stream struct {
	*stream
	pieces []Piece
}

func NewStream() *Stream {
	s := &Stream{}
	s.stream = newStream(func(stable []Piece) { s.pieces = append(s.pieces, stable...) })
	return s
}

func (s *Stream) Append(text string) { s.add(text) }
func (s *Stream) Ending()            { s.interim() }
func (s *Stream) Interim() Document  { return s.document(s.interim()) }
func (s *Stream) Whole() Document    { return s.document(s.whole()) }

func (s *Stream) document(e ending) Document {
	return Document{append(s.pieces[:len(s.pieces):len(s.pieces)], e.pieces...), len(s.pieces), e}
}

// Interim parses an unfinished text.
func Interim(text string) Document {
	s := NewStream()
	s.Append(text)
	return s.Interim()
}

// Parse parses a whole text.
func Parse(text string) Document {
	s := NewStream()
	s.Append(text)
	return s.Whole()
}

// Render renders d at once.
func Render(doc Document, d Dialect, l Limits) []Rendered {
	r := layout{d: d, l: l}
	r.read(doc.Pieces[:doc.stable])
	return r.parts(doc.ending)
}

// Unsplit is how all of d reads, laid out for limits but not split.
func Unsplit(doc Document, d Dialect, l Limits) string {
	r := layout{d: d, l: l}
	atoms := r.tail(nil, doc.Pieces)
	part, _, _, _ := (&packer{d: &r.d}).next(atoms, math.MaxInt)
	return part.Plain
}

// Work is how many bytes were parsed and how many atoms were handled for r.
func (r *Renderer) Work() (parsed, atoms int) { return r.stream.reader.work, r.layout.(*layout).work }
