package text

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain normalizes text for comparison: it ignores case, spaces, quotation marks, entities, and invisible characters.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc) || strings.ContainsRune("\"'`\\“”„‘’‚«»", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, html.UnescapeString(text))
}

// NameLabel turns the name of an action or a tool into words for people: PLAY_MUSIC, play-music and playMusic become
// "Play music".
func NameLabel(name string) string {
	var b strings.Builder
	small := false // the last rune is a small letter or a digit
	for _, r := range name {
		switch {
		case r == '_' || r == '-' || r == '.' || r == '/' || unicode.IsSpace(r):
			r = ' '
		case unicode.IsUpper(r) && small: // camelCase
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	words := strings.Join(strings.Fields(b.String()), " ")
	first, size := utf8.DecodeRuneInString(words)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + words[size:]
}
