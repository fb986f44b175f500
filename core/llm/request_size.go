package llm

import "parley/core/text"

const (
	TokensPerMessage = 4    // overhead of a message, in tokens
	imageTokens      = 1000 // estimate for one image
)

// EstimateTokens estimates the number of tokens of a request.
func EstimateTokens(req Request) int {
	n := text.Tokens(req.System)
	for _, t := range req.Messages {
		n += text.Tokens(t.Text) + TokensPerMessage + imageTokens*len(t.Images)
		for _, c := range t.Calls {
			n += text.Tokens(c.ID, c.Name) + text.Tokens([]byte(c.Parameters))
		}
	}
	for _, t := range req.Tools {
		n += text.Tokens(t.Name, t.Description) + text.Tokens([]byte(t.Parameters)) + TokensPerMessage
	}
	return n
}
