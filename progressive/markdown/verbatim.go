package markdown

import "strings"

// verbatim reads a line of code or of a formula. Only the end of the block has a meaning there.
func (s *segmenter) verbatim(line string) {
	if s.open.mode == inMath {
		s.formula(line)
		return
	}
	if _, indent := unindent(line); closes(line, s.open.mark) && indent < 4+s.open.indent {
		s.flushCode()
		s.skip(len(line))
		s.open, s.from = state{}, state{}
		return
	}
	s.take(len(line))
	if s.open.read > mostLines {
		s.flushCode()
	}
}

// flushCode emits the lines of code so far. The block stays open.
func (s *segmenter) flushCode() {
	o := s.open
	if o.read > 0 || o.joint == Apart {
		s.emit(segment{text: s.code(), joint: o.joint, mode: inCode, language: o.language, nested: o.nested})
	}
	s.skip(o.read)
	s.open = state{mode: inCode, joint: NextLine, mark: o.mark, language: o.language, indent: o.indent, nested: o.nested}
	s.from = s.open
}

// code returns the open segment without the indentation of its fence, and without its last newline.
func (s *segmenter) code() string {
	text := strings.TrimSuffix(s.tail[:s.open.read], "\n")
	if s.open.indent == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = dedent(l, s.open.indent)
	}
	return strings.Join(lines, "\n")
}

// dedent removes at most n columns of blanks.
func dedent(line string, n int) string {
	for n > 0 && line != "" && (line[0] == ' ' || line[0] == '\t') {
		if line[0] == '\t' {
			n -= 3
		}
		line, n = line[1:], n-1
	}
	return line
}

// formula reads a line of a formula, which also ends at an empty line: a lone sign must not swallow the rest of the
// text.
func (s *segmenter) formula(line string) {
	if strings.TrimSpace(line) == "" {
		s.flush()
		s.skip(len(line))
		return
	}
	s.take(len(line))
	if strings.HasSuffix(strings.TrimSpace(line), s.open.mark) {
		s.flush()
	} else if s.open.read > mostLines {
		mark := s.open.mark
		s.flush()
		s.open.mode, s.open.mark, s.open.joint = inMath, mark, NextLine
		s.from = s.open
	}
}

// overflow ends a segment that would become too long. Code within an item continues as a block of its own.
func (s *segmenter) overflow() {
	o := s.open
	s.flush()
	s.open.joint = NextLine
	switch {
	case o.inner != "":
		s.open = state{mode: inCode, mark: o.inner, language: o.language, indent: o.width, joint: Apart, nested: true}
	case o.blanks > 0:
		s.open.joint = Apart
	}
	s.open.list = ""
	s.from = s.open
}

// broken reads the first n bytes of a line that is too long. The rest continues as code or as a formula, or as words:
// marks that began in the line, such as a style, are forgotten.
func (s *segmenter) broken(n int) {
	switch o := s.open; o.mode {
	case inCode:
		s.take(n)
		s.flushCode()
		s.open.joint = SameLine
	case inMath:
		s.take(n)
		s.flush()
		s.open.mode, s.open.mark, s.open.joint = inMath, o.mark, SameLine
	default:
		if o.mode != inWords {
			s.flush()
			s.open.mode = inWords
			s.open.joint = o.joint
			if o.mode != none {
				s.open.joint = NextLine
			}
		}
		s.take(n)
		s.flush()
		s.open.mode, s.open.joint, s.open.list = inWords, SameLine, ""
	}
	s.from = s.open
}
