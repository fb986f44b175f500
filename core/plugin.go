package core

import (
	"context"
	"encoding/json"
	"time"
)

// Plugin is a bundle of what the agent can do. It is data: whoever builds the gateway lists it.
type Plugin struct {
	Name       string
	Actions    []Action
	Providers  []Provider
	Evaluators []Evaluator
	Templates  map[string]string // by name: they stand in for the built-in ones, and give way to the character's
	Observers  []Observer
}

// Provider tells the model something about the world of a turn.
type Provider interface {
	Spec() ProviderSpec
	// Provide returns what is to be told now; a zero Fragment is nothing. Providers of a turn run side by side, each within
	// its time; one that fails, breaks or is late is left out. Safe for concurrent use.
	Provide(ctx context.Context, s Scene) (Fragment, error)
}

// ProviderSpec says what a provider is and when it is asked.
type ProviderSpec struct {
	Name        string // in capitals, as "TIME"
	Description string // of a dynamic one: for the model, which may ask for it
	Dynamic     bool   // asked only when the answer names it
	Position    int    // where it stands among the others; those that change the least come first
}

// Fragment is what a provider tells.
type Fragment struct {
	Text   string            // for the prompt
	Values map[string]string // variables for templates, by name
}

// Scene is the turn that providers, evaluators and actions are asked about.
type Scene struct {
	Agent   Agent
	Run     RunID
	Room    Room
	Message Memory   // the newest that is answered
	Recent  []Memory // what was said in the room up to this turn, oldest first
	Private bool
}

// Evaluator looks back on a turn when it has been answered. Nobody waits for it.
type Evaluator interface {
	Name() string
	// Evaluate is given what was said. It runs under a time limit; its error is logged.
	Evaluate(ctx context.Context, s Scene, said Memory) error
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
	Similes     []string // other names that models give it
	Description string
	Parameters  json.RawMessage // JSON schema of an object
	Effect      Effect
	Limit       time.Duration // how long it may take; 0 is a minute
	// Compact is the parameters in one line for people; nil lists their values. It is called with what is there so far.
	Compact func(params map[string]any) string
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
