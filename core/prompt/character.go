package prompt

import (
	"strings"

	"parley/core/chat"
)

// bioOf returns the whole biography.
func bioOf(c chat.Character) string { return strings.Join(c.Bio, "\n") }
