package chat

import "parley/core/text"

// ChoiceLine describes the choice, and the user who made it if others could have.
func (q Question) ChoiceLine(where RoomKind) string {
	mark := "→ **" + q.Options[q.Choice] + "**"
	if !where.Private() && q.Name != "" {
		mark += " (" + text.Unmarked(q.Name) + ")"
	}
	return mark
}
