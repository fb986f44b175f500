package core

import (
	"context"
	"encoding/json"
)

// Plugin is a bundle of what the agent can do. It is data: whoever builds the gateway lists it.
type Plugin struct {
	Name      string
	Actions   []Action
	Observers []Observer
}

// Action is something that the agent can do.
type Action interface {
	Spec() ActionSpec
	// Act does it. What it returns is given back to the model. Between start and end it may show how it fares
	// with [Call.Update]. An error is told to the model as a failed result; it does not end the run.
	Act(ctx context.Context, c *Call) (Result, error)
}

// ActionSpec tells the model and the runtime of an action.
type ActionSpec struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of an object
	Effect      Effect
}

// Effect says whether an action changes something outside.
type Effect uint8

// The effects. What writes is journalled before and after, never cut off and never done twice.
const (
	Reads Effect = iota
	Writes
)

// Result is what an action found or did.
type Result struct {
	Text  string // for the model
	Short string // for people, one line
}

// Call is one call of an action.
type Call struct {
	ID         string
	Parameters json.RawMessage // a valid JSON object
	answer     *Answer
}

// Update shows text in place of what this call said before, below what is already written. It returns at once and is
// on its way before the next line of the action runs. Safe for concurrent use.
func (c *Call) Update(text string) {
	c.answer.Apply(Change{Kind: Callback, Call: c.ID, Text: clean(text)})
}
