package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

const mostWord = 48 // bytes of one atom

// inlines lays out words with their styles.
func (f *flow) inlines(in []Inline) {
	for _, i := range in {
		switch i := i.(type) {
		case Text:
			f.words(string(i), Place{})
		case Break:
			f.gap(min(f.lines+1, 2))
		case Span:
			f.in(Mark{Kind: CodeSpan, Info: string(i)}, func() {
				f.words(string(i), Place{InCode: f.frame.code()})
			})
		case Styled:
			f.in(Mark{Kind: i.Style}, func() { f.inlines(i.Text) })
		case Link:
			f.link(i)
		}
	}
}

// words cuts text into atoms: words, blanks between them, and characters of scripts without blanks. The dialect's guard
// is applied first, outside of code and links.
func (f *flow) words(text string, at Place) {
	if f.d.Guard != nil && !at.InCode && !f.frame.has(Anchor) && !(at.Bare && surelyLink(text)) {
		text = f.d.Guard(text)
	}
	var w reading
	for i := 0; i < len(text); {
		n := w.next(text, i)
		at.Start = f.lines > 0 || !f.some || f.starts()
		read := text[i : i+n]
		a := atom{run: text, at: i, end: i + n, place: at, read: read, written: f.d.escape(text, i, i+n, at), cut: w.cut}
		a.blank = w.blank
		if i == 0 {
			a.cut = f.before(read)
		}
		if a.blank && !at.InCode {
			a.cut = never // blanks stay with the atom before them
		}
		f.push(a)
		i += n
	}
}

// starts reports whether only markup of blocks is before the next atom in its line. Some characters are markup only
// there.
func (f *flow) starts() bool {
	for i := len(f.atoms) - 1; i >= 0; i-- {
		if a := &f.atoms[i]; a.run != "" && !a.blank {
			return false
		} else if a.lines > 0 {
			return true
		}
	}
	return true
}

// before returns the quality of the place between the last atom and text. A mark that combines with the character
// before it must stay with it.
func (f *flow) before(text string) quality {
	if r, _ := utf8.DecodeRuneInString(text); unicode.Is(unicode.M, r) || r == '\u200d' || r >= 0x1F3FB && r <= 0x1F3FF {
		return never
	}
	if len(f.atoms) == 0 {
		return character
	}
	last := &f.atoms[len(f.atoms)-1]
	if !last.blank {
		return character
	}
	if len(f.atoms) > 1 && endsSentence(f.atoms[len(f.atoms)-2].read) {
		return sentence
	}
	return word
}

// reading describes the text before the next atom.
type reading struct {
	cut   quality // before the atom that was found last
	blank bool    // it is blanks
	last  string  // the last word
}

// next returns the length of the atom at text[i:]: blanks, or a word, at most mostWord bytes of it and whole
// characters.
func (w *reading) next(text string, i int) int {
	w.cut = character
	if w.blank {
		if w.cut = word; endsSentence(w.last) {
			w.cut = sentence
		}
	} else if fullStop(w.last) {
		w.cut = sentence
	}
	n := 0
	for n < mostWord && i+n < len(text) && (text[i+n] == ' ' || text[i+n] == '\t') {
		n++
	}
	if w.blank = n > 0; w.blank {
		return n
	}
	// ASCII is by far the most, and needs no search for the end of the character.
	for rest := text[i:]; rest != "" && n < mostWord && rest[0] != ' ' && rest[0] != '\t'; rest = text[i+n:] {
		size := 1
		if !ascii(rest) {
			c, _, _, _ := uniseg.FirstGraphemeClusterInString(rest, -1)
			size = len(c)
		}
		n += size
		if fullStop(text[i : i+n]) {
			break
		}
	}
	w.last = text[i : i+n]
	return n
}

// fullStop reports whether s ends a sentence without a blank after it.
func fullStop(s string) bool {
	return strings.HasSuffix(s, "。") || strings.HasSuffix(s, "！") || strings.HasSuffix(s, "？")
}

// ascii reports whether the first character of s is one byte that nothing combines with.
func ascii(s string) bool {
	return s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf)
}

func endsSentence(word string) bool {
	word = strings.TrimRight(word, `"')]”’»`)
	return word != "" && (strings.IndexByte(".!?", word[len(word)-1]) >= 0 || strings.HasSuffix(word, "…"))
}

// escape returns how text[from:to] is written. It copies only if something is escaped.
func (d *Dialect) escape(text string, from, to int, at Place) string {
	var b *strings.Builder
	copied := from
	for i := from; i < to; {
		_, n := utf8.DecodeRuneInString(text[i:])
		if e := d.Escape(text, i, i+n, at); e != text[i:i+n] {
			if b == nil {
				b = &strings.Builder{}
			}
			b.WriteString(text[copied:i])
			b.WriteString(e)
			copied = i + n
		}
		i += n
	}
	if b == nil {
		return text[from:to]
	}
	b.WriteString(text[copied:to])
	return b.String()
}
