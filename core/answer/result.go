package answer

import "parley/core/text"

const MaxResult = 64 << 10 // bytes of a result that the model is given and that are stored (LM-08)

// LimitResult cuts a result that would crowd out the conversation.
func LimitResult(s string) string {
	if len(s) <= MaxResult {
		return s
	}
	return text.CutBytes(s, MaxResult) + "\n[truncated: the result was longer]"
}
