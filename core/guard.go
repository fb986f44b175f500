package core

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"parley/core/template"
)

// maxLabel is how long a name may be in a prompt, in characters (SE-08).
const maxLabel = 64

var tagName = regexp.MustCompile(`</?([A-Za-z][A-Za-z0-9_-]*)`)

// tags are the names of those that the parts of a prompt stand between.
type tags []string

// delimiters are the tags in the text of a template.
func delimiters(text string) (all tags) {
	for _, found := range tagName.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(all, found[1]) {
			all = append(all, found[1])
		}
	}
	return all
}

// guard makes text unable to begin or end a part of a prompt: what delimits parts is escaped in it (SE-08).
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

// begin says that what follows a "<" makes it one of the tags, however it is written: with spaces, or with what nobody sees
// between its letters (SE-09).
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

// guarded is v with every value guarded but those that the operator wrote.
func guarded(v template.Values, delimiters tags, uses func(string) bool) template.Values {
	own := map[string]bool{"agentName": true, "system": true, "characterBio": true}
	out := template.Values{Texts: map[string]string{}, Lists: map[string][]template.Item{}}
	for name, text := range v.Texts {
		if uses(name) && !own[name] {
			text = guard(text, delimiters)
		}
		out.Texts[name] = text
	}
	for name, items := range v.Lists {
		if !uses(name) {
			continue
		}
		for _, item := range items {
			safe := template.Item{}
			for field, text := range item {
				safe[field] = guard(text, delimiters)
			}
			out.Lists[name] = append(out.Lists[name], safe)
		}
	}
	return out
}

// Label makes somebody's name fit for a prompt: one line, of limited length, without what can't be seen, and without the
// colon that ends a name there (SE-08).
func Label(name string) string { return oneLine(strings.ReplaceAll(name, ":", "꞉"), maxLabel) }

// oneLine is text without breaks and what can't be seen, in at most longest characters.
func oneLine(text string, longest int) string {
	text = visible(strings.Join(strings.Fields(text), " "))
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) && !joins(r) {
			return -1
		}
		return r
	}, text)
	return Excerpt(text, longest)
}

// Quote makes a text of several lines stand below the first: no line of it can pass for another heading or speaker (SE-08).
func Quote(text string) string {
	return strings.ReplaceAll(breaks(strings.TrimRight(text, " \t\r\n")), "\n", "\n  ")
}

// breaks gives all ends of lines one form.
func breaks(s string) string { return lineEnds.Replace(s) }

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n", "\v", "\n", "\f", "\n")

// Excerpt is text, or its first limit characters and a mark that there were more.
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

// unmarked is the [Label] of a name without signs that mark up text.
func unmarked(name string) string {
	return Label(strings.Map(func(r rune) rune {
		if strings.ContainsRune("[]()<>*_~|`\\", r) {
			return ' '
		}
		return r
	}, name))
}
