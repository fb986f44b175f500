package answer

import "parley/core/text"

const maxResult = 64 << 10 // maximum size of a result for the model and the store, in bytes

// LimitResult cuts a result that would leave too little room for the conversation in the prompt.
func LimitResult(s string) string {
	if len(s) <= maxResult {
		return s
	}
	return text.CutBytes(s, maxResult) + "\n[truncated: the result was longer]"
}
