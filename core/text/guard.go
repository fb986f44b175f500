package text

import (
	"strings"
	"unicode"
)

// MaxLabel is the maximum length of a name in a prompt, in characters.
const MaxLabel = 64

// Label makes a name chosen by a user safe for a prompt: one line of limited length, without invisible characters, and
// without the colon that ends a name in a transcript.
func Label(name string) string { return OneLine(strings.ReplaceAll(name, ":", "꞉"), MaxLabel) }

// OneLine returns text without line breaks and invisible characters, cut to at most longest characters.
func OneLine(text string, longest int) string {
	text = Visible(strings.Join(strings.Fields(text), " "))
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) && !joins(r) {
			return -1
		}
		return r
	}, text)
	return Excerpt(text, longest)
}

// Quote indents all lines of text but the first, so that none of them can pass for another heading or speaker.
func Quote(text string) string {
	return strings.ReplaceAll(breaks(strings.TrimRight(text, " \t\r\n")), "\n", "\n  ")
}

// breaks normalizes line endings.
func breaks(s string) string { return lineEnds.Replace(s) }

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n", "\v", "\n", "\f", "\n")

// Excerpt returns text, or its first limit characters with a mark.
func Excerpt(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for i := range text {
		if limit == 0 {
			return text[:i] + "…"
		}
		limit--
	}
	return text
}

// Unmarked returns the [Label] of a name without markup characters.
func Unmarked(name string) string {
	return Label(strings.Map(func(r rune) rune {
		if strings.ContainsRune("[]()<>*_~|`\\", r) {
			return ' '
		}
		return r
	}, name))
}
