package action

// ForModel returns the result as the model sees it.
func (a Acted) ForModel() string {
	if a.Err != "" {
		return "Error: " + a.Err
	}
	return a.Result.Text
}
