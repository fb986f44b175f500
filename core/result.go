package core

import "parley/core/text"

const maxResult = 64 << 10 // bytes of a result that the model is given and that are stored (LM-08)

// limited cuts a result that would crowd out the conversation.
func limited(s string) string {
	if len(s) <= maxResult {
		return s
	}
	return text.CutBytes(s, maxResult) + "\n[truncated: the result was longer]"
}
