package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns text in a form that every store, platform and JSON reader accepts: valid UTF-8 without NUL. A message
// that can't be stored would be redelivered indefinitely.
func Clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// Visible returns [Clean] text without characters that machines read and people can't see: controls, tag characters
// outside flags, and direction overrides. Such characters could hide instructions to the model. Joiners stay, because
// Persian, Hindi and emoji need them.
func Visible(s string) string {
	s = Clean(s)
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if r == blackFlag {
			b.WriteString(s[i : i+flag(s[i:])])
		} else if !hidden(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

const (
	blackFlag = '\U0001F3F4'
	endOfFlag = '\U000E007F'
)

func hidden(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return false
	case unicode.Is(unicode.Cc, r), r >= '\U000E0000' && r <= '\U000E007F':
		return true
	}
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// joins reports whether r, a rune that [Visible] keeps, is invisible by itself but part of words, emoji or flags.
func joins(r rune) bool { return r == '\u200C' || r == '\u200D' || r > '\U000E0000' }

// flag returns the length of the flag emoji at the beginning of s: the black flag, or a region's, spelled in up to six
// tags.
func flag(s string) int {
	n, tags := utf8.RuneLen(blackFlag), 0
	for i, r := range s[n:] {
		switch {
		case r == endOfFlag && tags > 0:
			return n + i + utf8.RuneLen(r)
		case tags < 6 && (r >= '\U000E0030' && r <= '\U000E0039' || r >= '\U000E0061' && r <= '\U000E007A'):
			tags++
		default:
			return n
		}
	}
	return n
}
