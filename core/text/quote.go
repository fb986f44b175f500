package text

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
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

// Plain normalizes text for comparison: it ignores case, spaces, quotation marks, entities, and invisible characters.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc) || strings.ContainsRune("\"'`\\“”„‘’‚«»", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, html.UnescapeString(text))
}

// NameLabel turns the name of an action or a tool into words for users: PLAY_MUSIC, play-music and playMusic become
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

// Forwarded returns a forwarded text: its original author, or "" if unknown, and its further lines indented, so that
// they can't pass for the sender's own text. It never begins with a command. [SplitForwarded] finds it again.
func Forwarded(from, text string) string {
	if from = Unmarked(from); from != "" {
		from = " from " + from
	}
	return Passed("Forwarded"+from, text)
}

// Passed returns a text that is no sentence of the sender's in the form of [Forwarded], such as an embed or a poll. What names its kind.
func Passed(what, text string) string { return "*" + what + ":* " + Quote(strings.TrimSpace(text)) }

// forwarded is what [Forwarded] returns, or [Passed] for an embed: a line that begins with the mark, and the indented or empty ones that
// follow. A poll is the work of its sender.
var forwarded = regexp.MustCompile(`(?m)^\*(?:Forwarded(?: from [^:*\n]*)?|Embed):\*[^\n]*(?:\n(?:  [^\n]*|[ \t]*$))*`)

// SplitForwarded separates a sender's own text from the text that they pass on, which [Forwarded] has marked. If a sender
// writes the mark, the rest counts as words of others, never the other way round.
func SplitForwarded(text string) (own, others string) {
	if !strings.Contains(text, ":*") {
		return text, ""
	}
	text = breaks(text)
	others = strings.Join(forwarded.FindAllString(text, -1), "\n")
	return strings.TrimSpace(forwarded.ReplaceAllString(text, "")), others
}
