package core

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"parley/core/template"
)

// maxLabel is how long a name may be in a prompt, in characters (SE-08).
const maxLabel = 64

var tagName = regexp.MustCompile(`</?([A-Za-z][A-Za-z0-9_-]*)`)

// delimiters matches the tags in the text of a template, however they are written; nil if there are none.
func delimiters(text string) *regexp.Regexp {
	names := map[string]bool{}
	for _, found := range tagName.FindAllStringSubmatch(text, -1) {
		names[found[1]] = true
	}
	if len(names) == 0 {
		return nil
	}
	return tags(slices.Sorted(maps.Keys(names))...)
}

// tags matches the tags of these names, also with spaces around them, and with what nobody sees between their letters (SE-09).
// The names are plain ones.
func tags(names ...string) *regexp.Regexp {
	const unseen, around = `[\p{Cf}\p{Mn}]*`, `[\s\p{Cf}\p{Mn}]*`
	var spelled []string
	for _, n := range names {
		spelled = append(spelled, strings.Join(strings.Split(n, ""), unseen))
	}
	return regexp.MustCompile(`(?i)<(` + around + `/?` + around + `(?:` + strings.Join(spelled, "|") + `)\b)`)
}

// guard makes text unable to begin or end a part of a prompt: what delimits parts is escaped in it (SE-08).
func guard(text string, delimiters *regexp.Regexp) string {
	if delimiters == nil || !strings.Contains(text, "<") {
		return text
	}
	return delimiters.ReplaceAllString(text, "&lt;$1")
}

// guarded is v with every value guarded but those that the operator wrote.
func guarded(v template.Values, delimiters *regexp.Regexp, uses func(string) bool) template.Values {
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
func breaks(s string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n", "\v", "\n", "\f", "\n").Replace(s)
}

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
