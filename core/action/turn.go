package action

import (
	"slices"

	"parley/core/chat"
)

// Several reports whether the turn answers messages of several authors.
func (s TurnContext) Several() bool {
	return slices.ContainsFunc(s.Recent, func(m chat.Memory) bool { return slices.Contains(s.Answered, m.ID) && m.Author != s.Message.Author })
}

// Replace replaces a message in s.Recent, of which others keep the list that it was.
func (s *TurnContext) Replace(i int, m chat.Memory) {
	s.Recent = slices.Clone(s.Recent)
	s.Recent[i] = m
}
