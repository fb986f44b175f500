package telegramfake

import (
	"fmt"
	"strings"
)

// apiError is a refusal in the wire's words.
type apiError struct {
	code       int
	text       string
	retryAfter int
	migrateTo  int64
}

// Error is the description of the answer.
func (e *apiError) Error() string { return e.text }

func badRequest(format string, args ...any) *apiError {
	return &apiError{code: 400, text: "Bad Request: " + lowerFirst(fmt.Sprintf(format, args...))}
}

func forbidden(text string) *apiError { return &apiError{code: 403, text: "Forbidden: " + text} }

func conflict(text string) *apiError { return &apiError{code: 409, text: "Conflict: " + text} }

func tooMany(seconds int) *apiError {
	return &apiError{code: 429, text: fmt.Sprintf("Too Many Requests: retry after %d", seconds), retryAfter: seconds}
}

// lowerFirst follows the server: its own sentences begin small, codes such as TOPIC_CLOSED stay.
func lowerFirst(s string) string {
	if len(s) < 2 || s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
