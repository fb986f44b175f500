package progressive

import "strings"

const longestFence = 16 // a longer run of marks is taken for text, so that room for closing it can be had

// fences reads Markdown byte by byte and knows whether a fenced code block is open. A last line without its newline
// counts as it stands.
type fences struct {
	mark string // of the open block; empty if there is none
	info string // what follows the mark in its first line
	line line
}

// line is what of the current line matters to fences.
type line struct {
	begun bool // something other than blanks was there
	mark  byte // ` or ~, if the line begins with that
	run   int  // how often
	info  []byte
	ended bool // the run has
	tick  bool // a backtick stands after the run
}

func (l *line) read(c byte) {
	switch {
	case !l.begun && (c == ' ' || c == '\t'):
	case !l.begun && (c == '`' || c == '~'):
		l.begun, l.mark, l.run = true, c, 1
	case l.mark != 0 && !l.ended && c == l.mark:
		l.run++
	case l.mark != 0:
		l.ended = true
		l.tick = l.tick || c == '`'
		l.info = append(l.info, c)
	default:
		l.begun = true
	}
}

// fence says that the line may open or close a block.
func (l *line) fence() bool { return l.run >= 3 && l.run <= longestFence }

// read goes on by one byte.
func (f *fences) read(c byte) {
	if c == '\n' {
		f.mark, f.info = f.state()
		f.line = line{info: f.line.info[:0]}
		return
	}
	f.line.read(c)
}

// state is what is open if the text ends here.
func (f *fences) state() (mark, info string) {
	l := &f.line
	switch {
	case !l.fence():
	case f.mark == "" && (l.mark == '~' || !l.tick):
		return strings.Repeat(string(l.mark), l.run), string(l.info)
	case f.mark != "" && l.mark == f.mark[0] && l.run >= len(f.mark) && len(strings.TrimSpace(string(l.info))) == 0:
		return "", ""
	}
	return f.mark, f.info
}

// fresh says that the text stands at the beginning of a line.
func (f *fences) fresh() bool { return !f.line.begun }
