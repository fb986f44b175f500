package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Choices is what of a question can be seen.
type Choices struct {
	ID      string   `json:"id"`
	Options []string `json:"options"`
}

// Named finds the option, from 0, that text is, or is the number of, also behind a call of the agent. What an option says goes
// first: whoever presses "2" means that one.
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

// Numbered is the offer as a list, for places without buttons.
func (o Choices) Numbered() string {
	var b strings.Builder
	for i, option := range o.Options {
		fmt.Fprintf(&b, "%d. %s\n", i+1, option)
	}
	return strings.TrimSpace(b.String())
}
