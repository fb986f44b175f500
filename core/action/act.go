package action

// ForModel is what the model is told.
func (a Acted) ForModel() string {
	if a.Err != "" {
		return "Error: " + a.Err
	}
	return a.Result.Text
}
