package prompt

import (
	"strings"
	"unicode"
)

// Decisive finds the decision in what a model said to [ShouldRespond]: RESPOND, STOP, IGNORE, or "" if there is none.
// What is in an <action> counts; otherwise the first word in capitals, or else the first in small letters: models talk
// about their decision, and "no" in a sentence is no decision while "NO" is.
func Decisive(text string) string {
	meaning := map[string]string{
		"RESPOND": "RESPOND", "REPLY": "RESPOND", "YES": "RESPOND", "STOP": "STOP", "IGNORE": "IGNORE", "NONE": "IGNORE", "NO": "IGNORE",
	}
	if _, action, ok := strings.Cut(text, "<action>"); ok {
		text, _, _ = strings.Cut(action, "<")
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, as := range []func(string) string{strings.Clone, strings.ToUpper} {
		for _, w := range words {
			if found := meaning[as(w)]; found != "" {
				return found
			}
		}
	}
	return ""
}
