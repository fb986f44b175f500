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

// Line is what the reaction to on reads like. Our own messages are not known by their ids: they are not quoted.
func (r Reaction) Line(on Memory) string {
	if on.ID == "" {
		return fmt.Sprintf("*%s %s to a message*", r.Verb(), r.Emoji)
	}
	quote := text.Excerpt(strings.Join(strings.Fields(on.Text), " "), quoted)
	return fmt.Sprintf("*%s %s to: \"%s\"*", r.Verb(), r.Emoji, strings.ReplaceAll(quote, `"`, "'"))
}
