package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const zeroWidth = "\u200b"

// Light is Markdown for platforms that support a part of it, as Discord does: ** * ~~ || ` ``` > - 1. # ## ### and
// links with words of their own. Smaller headings are bold, tables are code. Characters are escaped only where they
// would become markup, because a backslash takes room and is visible in copied text. Length counts the written text, in
// UTF-16 units.
func Light() Dialect {
	d := Plain()
	d.Mark = lightMark
	d.Escape = lightEscape
	d.Links = func(url string) bool { return safe(url) && !strings.HasPrefix(url, "mailto:") }
	d.Holds = func(outer, inner Kind) bool { return outer != Anchor || inner != CodeSpan }
	d.Heading = func(level int) (string, []Kind) {
		if level > 3 {
			return "", []Kind{Strong}
		}
		return strings.Repeat("#", level) + " ", nil
	}
	d.Bullet = func(n int, l List, task Task) (string, string) {
		b := bullet(n, l, task)
		if l.Ordered {
			return b, b
		}
		return "- " + strings.TrimPrefix(b, "• "), b
	}
	d.QuoteReads = ""
	d.Between = zeroWidth
	return d
}

// lightMark returns the notation of m.
func lightMark(m Mark) (Markup, bool) {
	switch m.Kind {
	case Strong:
		return Markup{"**", "**"}, true
	case Emphasis:
		return Markup{"*", "*"}, true
	case Strike:
		return Markup{"~~", "~~"}, true
	case Spoiler:
		return Markup{"||", "||"}, true
	case CodeSpan:
		switch {
		case !strings.Contains(m.Info, "`"):
			return Markup{"`", "`"}, true
		default:
			return Markup{"`` ", " ``"}, true
		}
	case Anchor:
		return Markup{"[", "](" + parentheses.Replace(m.URL) + ")"}, true
	case CodeBlock:
		return Markup{"```" + LanguageOf(m.Info) + "\n", "\n```"}, true
	}
	return Markup{}, false
}

// parentheses are escaped in an address: a closing one would end it.
var parentheses = strings.NewReplacer("(", "%28", ")", "%29")

// lightEscape puts a backslash before characters that would become markup. In code, where backslashes are shown, a
// zero-width space separates backticks that would end it.
func lightEscape(text string, i, end int, at Place) string {
	c := text[i:end]
	if at.InCode {
		if c == "`" && i > 0 && text[i-1] == '`' {
			return zeroWidth + c
		}
		return c
	}
	if at.Bare || len(c) > 1 || !becomesMarkup(text, i, at) {
		return c
	}
	return `\` + c
}

// becomesMarkup reports whether the character at i would be read as markup. It looks only a few bytes around i, so that
// the result doesn't depend on where a word is cut; in doubt it reports true.
func becomesMarkup(text string, i int, at Place) bool {
	before, after := byte(' '), byte(' ')
	if i > 0 {
		before = text[i-1]
	}
	if i+1 < len(text) {
		after = text[i+1]
	}
	// Each case follows what clients do, which is not CommonMark: an underscore within a word is text, and a heading
	// needs a space.
	switch c := text[i]; c {
	case '`':
		return true
	case '\\':
		return after < utf8.RuneSelf && (unicode.IsPunct(rune(after)) || unicode.IsSymbol(rune(after)))
	case '*':
		return i == 0 || i+1 == len(text) || before != ' ' || after != ' ' || at.Start
	case '_':
		return before == c || after == c || !letterAround(text, i)
	case '~', '|':
		return before == c || after == c
	case ']':
		return after == '(' || i+1 == len(text) || at.InLink
	case '[':
		return at.InLink
	case '#', '-', '+', '>':
		return begins(text, i, at) && (after == ' ' || after == c || c == '>' || c == '-' && after == '#')
	case '.', ')':
		return after == ' ' && i > 0 && begins(text, wordStart(text, i), at) && digits(text[wordStart(text, i):i])
	case '<':
		return strings.HasPrefix(text[i:], "<http")
	}
	return false
}

// letterAround reports whether there is a letter on both sides of text[i].
func letterAround(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+1:])
	return letter(before) && letter(after)
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// begins reports whether text[i:] begins a line.
func begins(text string, i int, at Place) bool {
	return at.Start && strings.Trim(text[max(0, i-8):i], " #>") == ""
}

// wordStart is where the digits before text[i] begin.
func wordStart(text string, i int) int {
	from := i
	for from > 0 && i-from < 10 && text[from-1] >= '0' && text[from-1] <= '9' {
		from--
	}
	return from
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
