package action

import (
	"slices"

	"parley/core/chat"
)

// Several says that what the turn answers was written by several people.
func (s TurnContext) Several() bool {
	return slices.ContainsFunc(s.Recent, func(m chat.Memory) bool { return slices.Contains(s.Answered, m.ID) && m.Author != s.Message.Author })
}
