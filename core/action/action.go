package action

import (
	"context"
	"encoding/json"
	"time"

	"parley/core/llm"
)

// Action is something that the agent can do. An action may be a [Matcher] and an [Conditional] too. All methods are called
// by several runs at once.
type Action interface {
	// Spec is always the same.
	Spec() Spec
	// Act does it. What it returns is given back to the model. Between start and end it may show how it fares
	// with [Call.Update]. An error is told to the model as a failed result, and so is a panic; neither ends the run. Who
	// goes on after ctx is done is left behind.
	Act(ctx context.Context, c *Call) (Result, error)
}

// Matcher is an action that may claim a message before any model is asked. It then runs with these parameters, and what
// it shows, or else its Result.Text, is the answer. Match looks and changes nothing; it is asked about turns of one
// message that somebody wants answered. The first action that claims a message has it.
type Matcher interface {
	Match(s TurnContext) (params json.RawMessage, ok bool)
}

// Conditional is an action that is not there in every turn. Where it is not offered, nobody is told of it, and a call of it is
// one of an unknown action. Actions without this method are offered everywhere. What it says should hang on the room and
// on who asks: prompts that stay the same cost less.
type Conditional interface {
	Available(s TurnContext) bool
}

// Spec tells the model and the runtime of an action.
type Spec struct {
	Name        string
	Similes     []string // other names that models give it
	Description string
	Parameters  json.RawMessage // JSON schema of an object; nil is one without properties
	Unlisted    bool            // no model is told of it, but one that knows it may call it
	Quiet       bool            // people see nothing of its calls, and they are not remembered: they only end a turn
	Effect      Effect
	Limit       time.Duration // how long it may take; 0 is a minute
	// Compact is the parameters in one line for people; nil lists their values. It is called with what is there so far.
	Compact func(params map[string]any) string
}

// Tool returns what a model is told of the action.
func (s Spec) Tool() llm.Tool {
	return llm.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters}
}

// Effect says whether an action changes something that outlasts the answer. It decides what is journaled, and what may be
// carried out that a model wrote as text.
type Effect uint8

// The effects. What writes is journaled before and after, never cut off and never done twice.
const (
	undeclared Effect = iota // counts as Writes
	Reads
	Writes
)

// Result is what an action found or did.
type Result struct {
	Text  string // for the model
	Short string // for people, one line
	// Files are for people: below the answer, pictures as pictures, each at most 8 MiB. They are remembered with it, up to
	// 24 MiB.
	Files []llm.File
	// Last says that nothing more is to be said: the model is not asked again after this round. A turn in which then
	// nothing was said at all counts as ignored.
	Last bool
}

// Acted is a call that has come to its end.
type Acted struct {
	Action     string // as its spec names it
	Parameters json.RawMessage
	Result     Result
	Err        string // what the model was told; empty if it went well
}
