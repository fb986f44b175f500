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

func newStream(emit func(stable []Piece)) *stream {
	s := &stream{emit: emit, reader: newReader()}
	s.seg.emit = func(g segment) { s.emit(s.reader.read(g)) }
	return s
}

// add parses the next piece of the text, cut anywhere.
func (s *stream) add(text string) { s.seg.add(s.clean.add(text)) }

// whole returns the ending if the text ends here.
func (s *stream) whole() ending { return ending{pieces: s.open(s.seg.tail + s.clean.end())} }

// interim returns the ending while the text is unfinished: open markup is closed, and an ambiguous end is held back, so
// that no half-written markup is shown.
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

// ending contains the pieces after the stable ones.
type ending struct {
	pieces []Piece
	sure   []Piece // of an unfinished text: the part of pieces that stays
	open   bool    // more text may follow
	inCode bool    // the block of code at the end may go on
}

const (
	mostHeld   = 300 // bytes that are held back for one thing; a longer one is shown as it is
	mostHealed = 600 // bytes of a style that has no end yet; after that it is taken for words
)

// view describes the open end of a text.
type view struct {
	show    int    // bytes that may be shown
	closers string // what closes them
	sure    int    // bytes whose meaning stays whatever follows; not more than show
}

// holdTable holds back a row that the next line may make the head of a table.
func (v *view) holdTable(tail string, st state) {
	from := st.read
	if last := bare(tail[st.read:]); strings.Trim(last, "-:| \t") == "" && st.lines > 0 && st.blanks == 0 {
		if from = st.last; delimits(bare(tail[from:st.read])) {
			from = st.read // the table is sure
		}
	}
	line := bare(tail[from:])
	if line == "" || !mayHead(tail[from:]) || from < st.read && !strings.Contains(line, "|") {
		return
	}
	v.sure = min(v.sure, from)
	if isRow(line) || strings.Contains(line, " | ") {
		v.show = min(v.show, from)
	}
}

// heal closes the open marks in the words from on, and holds back marks that can't be closed.
func (v *view) heal(tail string, from int) {
	words := tail[:v.show]
	s := scanner{text: words, at: from, sure: v.sure, show: v.show}
	s.scan()
	for len(s.open) > 0 { // a style of nothing
		o := s.open[len(s.open)-1]
		if o.end > s.show || nothing(words[min(o.end, s.show):s.show]) {
			s.show = min(s.show, o.at)
			s.open = s.open[:len(s.open)-1]
			continue
		}
		break
	}
	line := words[strings.LastIndexByte(words[:s.show], '\n')+1 : s.show]
	if s.show < v.show && onlyMarks(line) {
		s.show -= len(line)
	}
	v.show, v.sure = s.show, min(s.sure, s.show)
	for i := len(s.open) - 1; i >= 0; i-- {
		if o := s.open[i]; o.end <= s.show && s.show-o.at <= mostHealed {
			v.closers += words[o.at:o.end]
		}
	}
}

// undecided examines the open end of a text; st is the state of its segmenter. It decides how much can be shown without
// being taken back with the next word: a line of dashes may become a rule, a heading or a table, and two stars may
// become three.
func undecided(tail string, st state) view {
	last := tail[st.read:]
	switch st.mode {
	case inCode:
		if last != "" && closesSoon(last, st.mark) {
			return view{show: st.read, sure: st.read}
		}
		return view{show: len(tail), sure: len(tail)}
	case inMath, inTable:
		return view{show: st.read, sure: st.read}
	case inWords:
		return view{show: len(tail), sure: len(tail)}
	}
	if st.inner != "" {
		if nothing(last) || closesSoon(bare(last), st.inner) {
			return view{show: st.read, sure: st.read}
		}
		return view{show: len(tail), sure: st.read}
	}
	v := view{show: len(tail)}
	if onlyMarks(last) || opensFence(bare(last)) {
		v.show = st.read
	}
	v.sure = v.show
	from := leaf(tail[:v.show])
	v.holdTable(tail, st)
	if st.mayUnderline(last) {
		v.sure = 0
	}
	v.heal(tail, min(from, v.show))
	return v
}

// mayUnderline reports whether the line that last begins may make a heading of the line before, or may be made one by
// the next line.
func (st state) mayUnderline(last string) bool {
	if st.mode == none {
		return len(last) <= mostUnderline
	}
	return st.mode == inParagraph && st.lines == 1 && st.read <= mostUnderline && strings.Trim(last, "-= \t") == ""
}

func nothing(s string) bool { return strings.TrimSpace(s) == "" }

// closesSoon reports whether line may become the end of a block of code.
func closesSoon(line, mark string) bool { return strings.Trim(line, " \t"+mark[:1]) == "" }

// onlyMarks reports whether line has only marks so far, so that its kind is still unknown.
func onlyMarks(line string) bool {
	s := strings.TrimSpace(bare(line))
	if s == "" {
		return line != ""
	}
	number := strings.TrimRight(s, ".)")
	return strings.Trim(s, "-+*_=#>`~|:$ ") == "" || len(s)-len(number) < 2 && len(number) < 10 && digits(number)
}

// opensFence reports whether line is the first of a block of code, which is not complete: its language is still being
// written.
func opensFence(line string) bool {
	mark, _ := openingFence(line)
	return mark != "" || strings.HasPrefix(line, "```")
}

// leaf returns where the last paragraph of tail begins, by its lines. Only in that can styles be open.
func leaf(tail string) int {
	at := 0
	for from := 0; from < len(tail); {
		end := from + strings.IndexByte(tail[from:], '\n') + 1
		if end == from {
			end = len(tail)
		}
		line := tail[from:end]
		if rest, n := peel(line); nothing(rest) {
			at = end
		} else if n > 0 {
			at = from + strings.LastIndex(line, rest)
		}
		from = end
	}
	return at
}
