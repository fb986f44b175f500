package chat

import "slices"

// AccessAction stands among the actions of messages about who may talk with the agent. They hold names that strangers chose, and so
// they are no part of any prompt.
const AccessAction = "ACCESS"

// InTranscript reports whether m is a part of the conversation. What only tells of a failure is not (LM-08), nor is what tells of access.
func (m Memory) InTranscript() bool {
	return (m.Failure == "" || m.Interrupted) && !slices.Contains(m.Actions, AccessAction)
}
