package answer

import "parley/core/text"

const MaxResult = 64 << 10 // maximum size of a result for the model and the store, in bytes

// LimitResult cuts a result that would leave too little room for the conversation in the prompt.
func LimitResult(s string) string {
	if len(s) <= MaxResult {
		return s
	}
	return text.CutBytes(s, MaxResult) + "\n[truncated: the result was longer]"
}
