package text

import (
	"regexp"
	"strings"
)

// Forwarded returns a text that someone passes on: who said it first, or "" where that is not told, and its further lines
// indented, so that they can't pass for what the sender says. It never begins with a command. [SplitForwarded] finds it
// again.
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
