package markdown

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const longestTag = 64 // bytes of tag characters that a flag may have; real ones have 24

// cleaner makes text fit to be shown, whatever pieces it comes in: valid UTF-8, lines that end with a newline, no
// control characters, nothing that changes the direction of later text, no hidden characters but those of flags. Hidden
// characters could carry instructions that users don't see, and marks of direction can make a file name or an address
// read as another one. Joiners and marks of direction for single characters stay: Persian, Hindi and families need
// them.
type cleaner struct {
	held string // the end of the text so far, which can't be judged yet
	flag bool   // held contains the tags of a flag
	dark bool   // the last character was the black flag
	cr   bool   // the last character was a carriage return
}

// add cleans more text and returns the certain part. The common case, plain ASCII, is returned without a copy.
func (c *cleaner) add(s string) string {
	if c.held == "" && !c.flag && !c.dark && !c.cr && plain(s) {
		return s
	}
	s, c.held = c.held+s, ""
	from := 0
	if c.flag {
		from, c.flag = 0, false
		c.dark = true
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := from; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		// The text ends within a character: the rest comes with the next piece.
		case r == utf8.RuneError && n == 1 && !utf8.FullRuneInString(s[i:]):
			c.held = s[i:]
			return b.String()
		// Tag characters are shown only after a black flag, and only if they form a whole sequence: anywhere else they
		// are invisible text.
		case c.dark && isTag(r):
			end, whole := tags(s[i:])
			if !whole {
				c.held, c.flag = s[i:], true
				return b.String()
			}
			b.WriteString(s[i : i+end])
			n = max(end, n)
		default:
			c.write(&b, r)
		}
		c.dark, c.cr = r == '\U0001F3F4', r == '\r'
		i += n
	}
	return b.String()
}

// end returns the rest of the text: a character that never became complete is shown as a replacement.
func (c *cleaner) end() string {
	if c.held == "" || c.flag {
		return ""
	}
	return strings.Repeat("\uFFFD", len(c.held))
}

// write adds r, unless it is hidden. All kinds of line ends become a newline.
func (c *cleaner) write(b *strings.Builder, r rune) {
	switch {
	case r == '\n' && c.cr:
	case r == '\r', r == '\u2028', r == '\u2029', r == '\u0085':
		b.WriteByte('\n')
	case !hidden(r):
		b.WriteRune(r)
	}
}

// plain reports whether s is ASCII that needs no cleaning.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// isTag reports whether r is one of the tag characters that the flags of regions such as Scotland consist of.
func isTag(r rune) bool { return r >= 0xE0020 && r <= 0xE007F }

// tags returns the length of the tags of a flag that s begins with, 0 if they are of none. whole is false if more of
// the text is needed to decide.
func tags(s string) (n int, whole bool) {
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		switch {
		case r == utf8.RuneError && !utf8.FullRuneInString(s[n:]):
			return 0, false
		case r == 0xE007F:
			return n + size, true
		case !isTag(r) || n > longestTag:
			return 0, true
		}
		n += size
	}
	return 0, false
}

// hidden reports whether r is never shown.
func hidden(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\t'
	case r >= 0x7f && r <= 0x9f, r >= 0xE0000 && r <= 0xE007F:
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u206f':
		return true
	case r == '\ufeff', r == '\u2060', r >= '\ufff9' && r <= '\ufffb':
		return true
	}
	return false
}

// Plain returns the dialect of platforms without markup: the notation is the visible text. The other dialects are made
// from it.
func Plain() Dialect {
	return Dialect{
		Mark:    func(Mark) (Markup, bool) { return Markup{}, false },
		Escape:  func(text string, i, end int, _ Place) string { return text[i:end] },
		Links:   func(string) bool { return false },
		Heading: func(int) (string, []Kind) { return "", nil },
		Bullet: func(n int, l List, task Task) (string, string) {
			b := bullet(n, l, task)
			return b, b
		},
		Units:       UTF16,
		QuotePrefix: "> ",
		QuoteReads:  "> ",
		Rule:        drawnRule,
		RuleReads:   drawnRule,
		Tab:         "\t",
	}
}

const drawnRule = "──────────"

// bullet returns the visible sign before an item.
func bullet(n int, l List, task Task) string {
	box := map[Task]string{OpenTask: "☐ ", DoneTask: "☑ "}[task]
	switch {
	case l.Ordered:
		return strconv.Itoa(n) + ". " + box
	case box != "":
		return box
	}
	return "• "
}
