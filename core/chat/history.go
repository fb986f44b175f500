package chat

import "slices"

// AccessAction marks messages about access requests. They contain names chosen by unknown users, so they must not reach
// a prompt.
const AccessAction = "ACCESS"

// InTranscript reports whether m is part of the conversation. Failure reports and messages about access requests are
// not.
func (m Memory) InTranscript() bool {
	return (m.Failure == "" || m.Interrupted) && !slices.Contains(m.Actions, AccessAction)
}
