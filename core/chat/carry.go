package chat

import "parley/core/text"

// ChoiceLine says what was chosen, and where others might have, by whom.
func (q Question) ChoiceLine(where RoomKind) string {
	mark := "→ **" + q.Options[q.Choice] + "**"
	if !where.Private() && q.Name != "" {
		mark += " (" + text.Unmarked(q.Name) + ")"
	}
	return mark
}
