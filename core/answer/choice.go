package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Choices is the visible part of a question.
type Choices struct {
	ID      string   `json:"id"`
	Options []string `json:"options"`
}

// Named returns the index of the option that text names by its title or number, optionally after the agent's name. A
// title takes precedence over a number: an option titled "2" is chosen by "2".
func (o Choices) Named(text string) (option int, ok bool) {
	text = strings.TrimSpace(text)
	if i := slices.IndexFunc(o.Options, func(o string) bool { return strings.EqualFold(o, text) }); i >= 0 {
		return i, true
	}
	if called, rest, more := strings.Cut(text, " "); more && strings.HasPrefix(called, "@") {
		return o.Named(rest)
	}
	n, err := strconv.Atoi(strings.TrimRight(text, ".)"))
	return n - 1, err == nil && n >= 1 && n <= len(o.Options)
}

// Numbered returns the options as a numbered list, for platforms without buttons.
func (o Choices) Numbered() string {
	var b strings.Builder
	for i, option := range o.Options {
		fmt.Fprintf(&b, "%d. %s\n", i+1, option)
	}
	return strings.TrimSpace(b.String())
}
