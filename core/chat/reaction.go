package chat

import (
	"fmt"
	"strings"

	"parley/core/text"
)

// quoted is how many characters of a message a reaction quotes.
const quoted = 50

// Verb says what was done.
func (r Reaction) Verb() string {
	if r.Added {
		return "Added"
	}
	return "Removed"
}

// Line is what the reaction to on reads like. Own reports whether on is an answer of the agent.
func (r Reaction) Line(on Memory, own bool) string {
	if on.ID == "" {
		return fmt.Sprintf("*%s %s to a message*", r.Verb(), r.Emoji)
	}
	quote := text.Excerpt(strings.Join(strings.Fields(on.Text), " "), quoted)
	what := ""
	if own {
		what = " your answer"
	}
	return fmt.Sprintf("*%s %s to%s: \"%s\"*", r.Verb(), r.Emoji, what, strings.ReplaceAll(quote, `"`, "'"))
}
