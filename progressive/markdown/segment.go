package markdown

import "strings"

const (
	mostPiece     = 8_000 // bytes; a longer block is cut. Four fit into the largest message, of 32 KiB
	mostLines     = 4_000 // bytes of code or table in one piece
	mostUnderline = 100   // bytes of a line that the next may make a heading, or the head of a table
)

// segment is the source of one or more blocks that nothing further changes. It can be parsed alone, because head,
// number and joint contain the necessary state of the text before it.
type segment struct {
	text     string
	joint    Joint
	mode     mode
	language string // of code
	nested   bool   // it began in an item
	head     string // the head of the table that text continues
	number   int    // of the item, if there is one
}

// mode is the kind of block that lines are read as.
type mode uint8

const (
	none mode = iota
	inParagraph
	inQuote
	inList
	inIndented
	inTable
	inCode
	inMath
	inWords // the rest of a line that was cut: words only
)

// segmenter cuts text where blocks end at the top level. It decides by complete lines, each once, so that the beginning
// of a text gives the same segments as the whole. Its cost is linear. A block that is too long is cut too: a text
// without an end, such as a line of 100 kB, must not be parsed again for each word.
type segmenter struct {
	emit func(segment)
	tail string // of the text: the open segment, then the unread rest
	open state
	from state // as open was when the segment began
}

// state is the segmenter's result for the lines read so far. It is copied, so that the open end can be read again.
type state struct {
	mode  mode
	read  int // bytes of tail
	joint Joint

	lines  int // of the paragraph
	last   int // where the last line began
	blanks int // the last lines that are blank

	mark     string // closes the code or formula
	language string
	indent   int    // of the code
	nested   bool   // it began in an item
	inner    string // closes the code within an item
	head     string // of the table
	list     string // the mark of the list, which may go on
	number   int    // of its last item
	width    int    // of the item's indentation
	loose    bool   // blank lines stood before the item
}

// add reads more text.
func (s *segmenter) add(text string) {
	s.tail += text
	for {
		n := strings.IndexByte(s.tail[s.open.read:], '\n') + 1
		if n > mostPiece || n == 0 && len(s.tail)-s.open.read > mostPiece {
			s.broken(cutLine(s.tail[s.open.read:]))
			continue
		}
		if n == 0 {
			return
		}
		s.line(n)
	}
}

// end reads the rest as the last line, and ends the open segment.
func (s *segmenter) end() {
	if len(s.tail) > s.open.read {
		s.line(len(s.tail) - s.open.read)
	}
	if s.open.mode == inCode {
		s.flushCode()
		return
	}
	s.flush()
}

// cutLine returns where a line that is too long is cut: after its last blank, otherwise at a character.
func cutLine(line string) int {
	line = line[:mostPiece]
	if i := strings.LastIndexAny(line, " \t"); i > mostPiece/2 {
		return i + 1
	}
	return wholeRunes(line)
}

// wholeRunes is the length of s without the first bytes of a character at its end.
func wholeRunes(s string) int {
	n := len(s)
	for i := 1; i < 4 && i <= n; i++ {
		if c := s[n-i]; c >= 0xC0 {
			return n - i
		} else if c < 0x80 {
			break
		}
	}
	return n
}

// line reads the next n bytes as a line: it continues the open segment, or ends it and begins another.
func (s *segmenter) line(n int) {
	line := s.tail[s.open.read : s.open.read+n]
	switch s.open.mode {
	case inCode, inMath:
		s.verbatim(line)
		return
	case inWords:
		s.take(n)
		s.flush()
		return
	}
	st := startOf(line)
	if st.kind == blank {
		s.blank(n)
		return
	}
	// A block that gets too long is ended before this line, which begins another one.
	if s.open.read > 0 && s.open.read+n > mostPiece && s.open.mode != none {
		s.overflow()
		if s.open.mode == inCode {
			s.verbatim(line)
			return
		}
	}
	if s.open.mode != none && s.ends(st, line) {
		s.flush()
	}
	if s.open.mode == none {
		s.begin(st, line)
		return
	}
	s.goOn(st, line)
}

// take adds the next n bytes, a line, to the open segment.
func (s *segmenter) take(n int) {
	s.open.last = s.open.read
	s.open.read += n
	s.open.lines++
	s.open.blanks = 0
}

// flush emits the open segment. Of a list the mark and the number are kept, in case another item follows.
func (s *segmenter) flush() {
	o := s.open
	if o.mode != none && o.read > 0 {
		text := strings.TrimRight(s.tail[:o.read], "\n")
		s.emit(segment{text: text, joint: o.joint, mode: o.mode, language: o.language, head: s.from.head, number: o.number})
	}
	s.skip(o.read)
	s.open = state{}
	if o.mode == inList {
		s.open.list, s.open.number, s.open.loose = o.list, o.number, o.blanks > 0
	}
	s.from = s.open
}

// skip drops the first n bytes.
func (s *segmenter) skip(n int) { s.tail = s.tail[n:] }

// blank reads an empty line. It ends most blocks; in a list it may separate paragraphs of an item.
func (s *segmenter) blank(n int) {
	switch s.open.mode {
	case none:
		s.skip(n)
		s.open.joint, s.from.joint = Apart, Apart
		s.open.loose, s.from.loose = true, true
	case inList, inIndented:
		s.open.read += n
		s.open.blanks++
		if s.open.read > mostPiece {
			s.flush()
		}
	default:
		s.flush()
		s.skip(n)
	}
}

// ends reports whether the open segment ends before line.
func (s *segmenter) ends(st start, line string) bool {
	switch s.open.mode {
	case inParagraph:
		return s.paragraphEnds(st, line)
	case inList:
		if _, indent := unindent(line); indent >= s.open.width {
			return false
		}
		return st.kind == item || st.kind != prose && st.kind != indented || s.open.blanks > 0
	case inQuote:
		return st.kind != quote && st.interrupts()
	case inTable:
		return st.interrupts()
	case inIndented:
		return st.kind != indented
	}
	return false
}

// paragraphEnds reports whether line ends the paragraph. An underline makes a heading only of a single, short line: a
// longer one may have been shown as text already.
func (s *segmenter) paragraphEnds(st start, line string) bool {
	if underlines(line) {
		return s.open.lines > 1 || s.open.read > mostUnderline
	}
	return st.interrupts() || strings.Trim(line, "-: \t\n") == "" || delimits(line) && !mayHead(s.tail[s.open.last:s.open.read])
}

// mayHead reports whether line is the head of a table if a rule follows. A long one must begin like a row: so that what
// is in a long line is known before its end.
func mayHead(line string) bool {
	return len(line) <= mostUnderline || isRow(bare(line))
}

// goOn adds line to the open segment.
func (s *segmenter) goOn(st start, line string) {
	previous := s.tail[s.open.last:s.open.read]
	s.take(len(line))
	switch s.open.mode {
	case inParagraph:
		switch {
		case s.open.lines == 2 && underlines(line):
			s.flush()
		case delimits(line) && cells(line) == cells(previous):
			s.open.mode = inTable
			s.open.head = previous + line
		}
	case inList:
		s.nested(bare(line))
	case inTable:
		if s.open.read > mostLines {
			head := s.open.head
			s.flush()
			s.open.mode, s.open.joint, s.open.head = inTable, NextLine, head
			s.from = s.open
		}
	}
}

// nested follows the blocks of code within an item, which must not end at what looks like another block.
func (s *segmenter) nested(line string) {
	switch {
	case s.open.inner == "":
		s.open.inner, s.open.language = openingFence(strings.TrimRight(line, " \t\n"))
	case closes(line, s.open.inner):
		s.open.inner, s.open.language = "", ""
	}
}

// begin opens a segment with line. Headings and rules are complete with their line.
func (s *segmenter) begin(st start, line string) {
	o := &s.open
	after := *o
	o.list = ""
	// The next item of the same list follows without a gap.
	if after.joint == Apart && after.list != "" && st.kind == item && !after.loose && after.list == st.mark {
		o.joint = NextLine
	}
	switch st.kind {
	case heading, rule:
		o.mode = inParagraph
		s.take(len(line))
		s.flush()
		return
	case fence:
		o.mode, o.mark, o.language, o.indent = inCode, st.mark, st.info, st.indent
		s.opened(len(line))
		return
	case formula:
		o.mode, o.mark = inMath, st.mark
		s.take(len(line))
		if st.single {
			s.flush()
		}
		return
	case item:
		o.mode, o.width, o.list, o.number = inList, st.width, st.mark, st.number
		// Models number all items with 1, since Markdown counts them.
		if after.list == st.mark && st.number <= after.number {
			o.number = after.number + 1
		}
		s.nested(bare(line))
	case quote:
		o.mode = inQuote
	case indented:
		o.mode = inIndented
	default:
		o.mode = inParagraph
	}
	s.take(len(line))
}

// opened removes the line that opens a block of code. The open segment then exists, even if it is empty.
func (s *segmenter) opened(n int) {
	s.skip(n)
	s.from = s.open
}
