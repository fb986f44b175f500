package markdown

import "strings"

// stream parses a growing text. Its cost is linear in the text, and for each ending linear in the open segment, which
// is limited.
type stream struct {
	emit   func(stable []Piece) // called for pieces that nothing further changes
	clean  cleaner
	seg    segmenter
	reader *reader
}

// ending is what follows the stable pieces of a text.
type ending struct {
	pieces []Piece
	sure   []Piece // of an unfinished text: the part of pieces that stays
	open   bool    // more text may follow
	inCode bool    // the block of code at the end may go on
}

func newStream(emit func(stable []Piece)) *stream {
	s := &stream{emit: emit, reader: newReader()}
	s.seg.emit = func(g segment) { s.emit(s.reader.read(g)) }
	return s
}

// add parses the next piece of the text, cut anywhere.
func (s *stream) add(text string) { s.seg.add(s.clean.add(text)) }

// whole returns what follows if the text ends here.
func (s *stream) whole() ending { return ending{pieces: s.open(s.seg.tail + s.clean.end())} }

// interim returns what follows while the text is unfinished: open markup is closed, and an ambiguous end is held back,
// so that no half-written markup is shown.
func (s *stream) interim() ending {
	tail := s.seg.tail
	v := undecided(tail, s.seg.open)
	shown := tail[:v.show]
	if v.closers != "" {
		shown = strings.TrimRight(shown, " \t\n") + v.closers
	}
	mode := s.seg.open.mode
	e := ending{pieces: s.open(shown), open: true, inCode: mode == inCode || mode == inIndented}
	e.sure = e.pieces
	if v.sure < v.show {
		e.sure = s.open(tail[:v.sure])
	}
	return e
}

// open returns the pieces of tail, if it were the rest of the text. It reads them with a segmenter of its own, which
// starts where the open segment began, so that the state of s stays.
func (s *stream) open(tail string) (pieces []Piece) {
	if strings.TrimSpace(tail) == "" && s.seg.from.mode != inCode {
		return nil
	}
	rest := segmenter{open: s.seg.from, from: s.seg.from, emit: func(g segment) { pieces = append(pieces, s.reader.read(g)...) }}
	rest.add(tail)
	rest.end()
	return pieces
}
