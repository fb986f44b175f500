package markdown

import "strings"

// Stream parses a growing text. Its cost is linear in the text, and per view in the open piece, which is limited. The
// unstable end of a document is valid until the next document is requested. The zero value is an empty text. It is not
// safe for concurrent use.
type Stream struct {
	clean  cleaner
	seg    segmenter
	reader *reader
	pieces []Piece
}

// Append parses the next piece of the text, cut anywhere.
func (s *Stream) Append(text string) {
	if s.reader == nil {
		s.reader = newReader()
		s.seg.emit = func(g segment) { s.pieces = append(s.pieces, s.reader.read(g)...) }
	}
	s.seg.add(s.clean.add(text))
}

// Whole returns the document as if the text ended here.
func (s *Stream) Whole() Document {
	return Document{Pieces: s.with(s.open(s.seg.tail + s.clean.end())), stable: len(s.pieces)}
}

// Interim returns the document of an unfinished text: open markup is closed, and an ambiguous end is held back, so that
// no half-written markup is shown.
func (s *Stream) Interim() Document {
	tail := s.seg.tail
	v := undecided(tail, s.seg.open)
	shown := tail[:v.show]
	if v.closers != "" {
		shown = strings.TrimRight(shown, " \t\n") + v.closers
	}
	mode := s.seg.open.mode
	d := Document{Pieces: s.with(s.open(shown)), stable: len(s.pieces), open: true, inCode: mode == inCode || mode == inIndented}
	d.sure = d.Pieces[d.stable:]
	if v.sure < v.show {
		d.sure = s.open(tail[:v.sure])
	}
	return d
}

// with is the stable pieces and others behind them, in room that the next stable ones will need.
func (s *Stream) with(others []Piece) []Piece {
	all := append(s.pieces, others...)
	s.pieces = all[:len(s.pieces)]
	return all
}

// open is the pieces of tail, if it were the whole of what follows.
func (s *Stream) open(tail string) (pieces []Piece) {
	if strings.TrimSpace(tail) == "" && s.seg.from.mode != inCode {
		return nil
	}
	rest := segmenter{open: s.seg.from, from: s.seg.from, emit: func(g segment) { pieces = append(pieces, s.reader.read(g)...) }}
	rest.add(tail)
	rest.end()
	return pieces
}

// Interim parses an unfinished text.
func Interim(text string) Document {
	var s Stream
	s.Append(text)
	return s.Interim()
}
