package action

// A PublicError is an error of an action whose text people read too, as the end of the call: a sentence without anything internal. Of
// other errors they learn only that the call failed.
type PublicError struct {
	Text   string
	Detail bool // only those who see the details of calls read it: the text was written for a model, such as that of an MCP server
}

// Error implements error.
func (e *PublicError) Error() string { return e.Text }

// ForModel returns the result as the model sees it.
func (a Acted) ForModel() string {
	if a.Err != "" {
		return "Error: " + a.Err
	}
	return a.Result.Text
}
