package prompt

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"parley/core/chat"
)

var tagName = regexp.MustCompile(`</?([A-Za-z][A-Za-z0-9_-]*)`)

// tags are the names of the tags that delimit the parts of a prompt.
type tags []string

// begin reports whether the text after a "<" makes it one of the tags, in any spelling: with spaces, or with invisible
// characters between its letters, which models ignore.
func (t tags) begin(text string) bool {
	var name []rune
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Mn):
		case unicode.IsLetter(r), unicode.IsDigit(r), len(name) > 0 && (r == '_' || r == '-'):
			name = append(name, r)
		case len(name) > 0 || r != '/' && !unicode.IsSpace(r):
			return t.has(string(name))
		}
	}
	return t.has(string(name))
}

func (t tags) has(name string) bool {
	return slices.ContainsFunc(t, func(n string) bool { return strings.EqualFold(n, name) })
}

// delimiters returns the tags in the text of a template, opening or closing, of any purpose.
func delimiters(text string) (all tags) {
	for _, found := range tagName.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(all, found[1]) {
			all = append(all, found[1])
		}
	}
	return all
}

// guard escapes delimiters in text, so that content of users can't begin or end a part of the prompt. Other tags stay,
// because code and markup are content. It costs nothing for a text without a "<".
func guard(text string, delimiters tags) string {
	at := strings.IndexByte(text, '<')
	if len(delimiters) == 0 || at < 0 {
		return text
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexByte(text, '<') {
		b.WriteString(text[:at])
		if text = text[at+1:]; delimiters.begin(text) {
			b.WriteString("&lt;")
		} else {
			b.WriteByte('<')
		}
	}
	return b.String() + text
}

// guarded guards all values of v in place, except those written by the operator, and returns it. Values that the
// template does not use are left as they are, to save the work.
func guarded(v Values, delimiters tags, uses func(string) bool) Values {
	for name, text := range v.Texts {
		operators := name == "agentName" || name == "system" || name == "characterBio"
		if !operators && uses(name) {
			v.Texts[name] = guard(text, delimiters)
		}
	}
	for name, items := range v.Lists {
		if !uses(name) {
			continue
		}
		for _, item := range items {
			for field, text := range item {
				item[field] = guard(text, delimiters)
			}
		}
	}
	return v
}

// bioOf returns the whole biography.
func bioOf(c chat.Character) string { return strings.Join(c.Bio, "\n") }
