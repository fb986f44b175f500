package text

import (
	"html"
	"strings"
	"unicode"
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
