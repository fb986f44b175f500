package text

import (
	"html"
	"strings"
	"unicode"
)

// Plain is text without what differs between the ways to write one thing: case, space, quotation marks, entities, and what has no shape.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc) || strings.ContainsRune("\"'`\\“”„‘’‚«»", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, html.UnescapeString(text))
}
