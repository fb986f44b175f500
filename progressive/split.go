package progressive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// leastForFences is the least limit that leaves room for text between an added opening and closing line.
const leastForFences = 64

// UTF16Len is the length of s in UTF-16 units, which is never less than what platforms count as characters.
func UTF16Len(s string) (n int) {
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}

// Split cuts Markdown text into parts of at most limit, as measured by length, which must be additive: the length of a
// whole is that of its pieces. It cuts after a paragraph, else a line, a sentence, a word or a character, and never
// inside a character unless that alone is longer than limit. A fenced code block that is cut is closed and opened
// again; without these added lines the parts joined are the text. While a text grows, all its parts but the last stay
// as they are. The cost is linear.
func Split(text string, limit int, length func(string) int) []string {
	var out []string
	for _, p := range split(text, limit, length) {
		out = append(out, p.open+p.text+p.shut)
	}
	return out
}

// piece is a part of a text, with the fence lines that were added around it.
type piece struct{ open, text, shut string }

func split(text string, limit int, length func(string) int) (pieces []piece) {
	if length(text) <= limit && text != "" && !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return []piece{{text: text}} // most texts
	}
	mark, info := "", ""
	for text != "" {
		c := cutter{text: text, length: length, fenced: limit >= leastForFences}
		if mark != "" {
			c.open = mark + info + "\n"
			if length(c.open) > limit/4 { // the language costs more than it says
				info, c.open = "", mark+"\n"
			}
			c.f = fences{mark: mark, info: info}
		}
		c.room = limit - length(c.open)
		end := c.cut()
		pieces = append(pieces, piece{c.open, text[:end.at], end.shut})
		text, mark, info = text[end.at:], end.mark, end.info
	}
	return pieces
}

// place is somewhere a text can be cut: what stands before it, and what is open there.
type place struct {
	at         int // bytes before it
	size       int
	mark, info string
	shut       string // closes what is open
}

// quality is how good a place is to cut.
type quality int

const (
	character quality = iota
	word
	sentence
	lineEnd
	paragraph
	qualities
)

// cutter finds the end of one part. Whatever it decides depends only on the text up to the first place where nothing
// more fits and the character there: so it decides the same when more text follows.
type cutter struct {
	text   string
	open   string
	room   int
	length func(string) int
	fenced bool

	f      fences
	size   int
	best   [qualities]place
	inLink bool    // between [ and the end of its (…)
	prev   [2]rune // the last two runes other than blanks: a sentence may end with a mark and a quote
	blank  bool    // the last rune was one
	lines  int     // newlines in a row
}

// cut is the end of the part that begins where text begins.
func (c *cutter) cut() place {
	rest, state, at := c.text, -1, 0
	fits := place{} // the last rune that does
	for rest != "" {
		if at > 0 {
			c.consider(at)
		}
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		for i, r := range cluster {
			n := utf8.RuneLen(r)
			if r == utf8.RuneError {
				_, n = utf8.DecodeRuneInString(cluster[i:])
			}
			c.read(cluster[i:i+n], r)
			here := c.here(at + i + n)
			if c.size+c.length(here.shut) > c.room {
				return c.choose(fits, here)
			}
			fits = here
		}
		at += len(cluster)
	}
	return fits
}

// read goes on by one rune.
func (c *cutter) read(s string, r rune) {
	c.size += c.length(s)
	if c.fenced {
		for i := range len(s) {
			c.f.read(s[i])
		}
	}
	switch {
	case r == '\n':
		c.lines++
		c.inLink = false
	case !unicode.IsSpace(r):
		c.lines = 0
		c.readLink(r)
		c.prev = [2]rune{c.prev[1], r}
	}
	c.blank = unicode.IsSpace(r)
}

func (c *cutter) readLink(r rune) {
	switch {
	case r == '[':
		c.inLink = true
	case r == ')', c.prev[1] == ']' && r != '(':
		c.inLink = false
	}
}

// here is the place after what was read.
func (c *cutter) here(at int) place {
	p := place{at: at, size: c.size}
	p.mark, p.info = c.f.state()
	if p.mark == "" {
		return p
	}
	if p.shut = p.mark; c.text[at-1] != '\n' {
		p.shut = "\n" + p.mark
	}
	return p
}

// consider remembers the boundary before c.text[at:] if it is the best of its quality so far.
func (c *cutter) consider(at int) {
	p := c.here(at)
	c.best[character] = p
	next := c.text[at]
	inside := p.mark != ""
	switch {
	case unicode.IsSpace(rune(next)): // blanks stay with what they follow
		return
	case (next == '`' || next == '~') && (inside || c.lines == 0): // it would become or end a block of its own
		return
	case inside && c.lines > 0 && c.opened(p): // the block would be empty
		return
	}
	switch {
	case c.lines > 1 && !inside:
		c.best[paragraph] = p
	case c.lines > 0:
		c.best[lineEnd] = p
	case c.inLink || !c.f.fresh() && c.f.line.mark != 0:
	case c.sentenceEnded():
		c.best[sentence] = p
	case c.blank:
		c.best[word] = p
	}
}

// opened says that the line before p opened the block that is open there.
func (c *cutter) opened(p place) bool {
	before := strings.TrimRight(c.text[:p.at], " \t\r\n")
	before = before[strings.LastIndexByte(before, '\n')+1:]
	return strings.HasPrefix(strings.TrimLeft(before, " \t"), p.mark)
}

func (c *cutter) sentenceEnded() bool {
	last := c.prev[1]
	if strings.ContainsRune("。！？", last) {
		return true
	}
	if strings.ContainsRune(`"')]”’»`, last) {
		last = c.prev[0]
	}
	return c.blank && strings.ContainsRune(".!?…", last)
}

// choose takes the best place that leaves no part less than half full, else the last character that fits, else the
// last rune, and at least that one that does not.
func (c *cutter) choose(fits, beyond place) place {
	for q := paragraph; q > character; q-- {
		if p := c.best[q]; p.at > 0 && p.size >= c.room/2 {
			return p
		}
	}
	switch {
	case c.best[character].at > 0:
		return c.best[character]
	case fits.at > 0:
		return fits
	}
	return beyond
}
