package prompt

import (
	"strings"

	"parley/core/chat"
)

// bioOf is the whole biography.
func bioOf(c chat.Character) string { return strings.Join(c.Bio, "\n") }
