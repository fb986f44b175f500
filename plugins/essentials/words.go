package essentials

import (
	"strings"
	"unicode"
)

// words returns the words of a text in lower case. For scripts without spaces it returns each pair of characters.
func words(text string) (all []string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(w)
		if len(runes) < 2 || !dense(runes[0]) {
			all = append(all, w)
			continue
		}
		for i := range len(runes) - 1 {
			all = append(all, string(runes[i:i+2]))
		}
	}
	return all
}

// dense reports whether r belongs to a script without spaces between words.
func dense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
