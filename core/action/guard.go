package action

import "encoding/json"

// A Guarded action needs an approval for some of its calls. The runtime asks for it before the call is made.
type Guarded interface {
	// Guard returns what has to be approved, or nil if the call can be made at once. It must not have side effects.
	Guard(c *Call) *Approval
}

// Approval describes a call that needs one.
type Approval struct {
	// Server is where the action comes from, such as the name of an MCP server, and Tool its name there.
	Server, Tool string
	// Shown is what will be done, for users. Empty: the parameters.
	Shown string
	// Kind identifies the definition of the action: its name, description, schema and effect. An approval for all calls lapses when
	// it changes. If it is empty, there is none for all calls.
	Kind string
}

// A Delegate is an action that stands for others: the call is made as one of another action.
type Delegate interface {
	// Delegated returns the name of the other action and its parameters. An error is told to the model.
	Delegated(params json.RawMessage) (name string, inner json.RawMessage, err error)
}
