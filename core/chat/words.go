package chat

import (
	"regexp"
	"strings"

	"parley/core/text"
)

// Words are the parts of a message's text by who chose the words.
type Words struct {
	Own       string // the author
	Forwarded string // others, whose message the author passes on
	Reaction  string // the author of the message that a reaction quotes
	Values    string // the sender of a request to a hook
}

var (
	// reactionLine is what [Reaction.Line] returns.
	reactionLine = regexp.MustCompile(`(?s)^\*(?:Added|Removed) .* to(?: your answer)?: "(.*)"\*$`)
	// hookValue is how the text of a hook contains a value: in quotation marks, which have none inside.
	hookValue = regexp.MustCompile(`"[^"]*"`)
)

// Words divides the text of m. What can't be told from the words of others is theirs.
func (m Memory) Words() (w Words) {
	if found := reactionLine.FindStringSubmatch(m.Text); found != nil && m.InReplyTo != "" {
		return Words{Reaction: found[1]}
	}
	w.Own, w.Forwarded = text.SplitForwarded(m.Text)
	if strings.HasPrefix(string(m.Author), HookPrefix) {
		w.Values = strings.Join(hookValue.FindAllString(w.Own, -1), "\n")
		w.Own = hookValue.ReplaceAllString(w.Own, "")
	}
	return w
}
