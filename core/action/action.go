// Package action defines what plugins provide: actions, providers and evaluators, and the [Call] through which an
// action shows its progress. It does not depend on the runtime.
package action

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"parley/core/llm"
	"parley/core/text"
)

// An Action is a capability of the agent. It can also implement [Matcher] and [Conditional]. All methods must be safe
// for concurrent use.
type Action interface {
	// Spec must always return the same value.
	Spec() Spec
	// Act runs the action and returns the result for the model. It can show progress with [Call.Update]. An error or a
	// panic is reported to the model as a failed result and does not end the run. If Act continues after ctx is done,
	// its result is discarded.
	Act(ctx context.Context, c *Call) (Result, error)
}

// A Matcher is an action that can claim a message before any model is called. It then runs with the returned
// parameters, and its output, or else its Result.Text, is the answer. Match must not have side effects. It is only
// called for turns of a single message that requires an answer. The first action that claims a message runs.
type Matcher interface {
	Match(s TurnContext) (params json.RawMessage, ok bool)
}

// A Conditional action is not available in every turn. While it is unavailable, the model does not see it, and a call
// of it is handled as a call of an unknown action. Actions without this method are always available. The result should
// depend on the room and the author only: identical prompts hit the provider's prompt cache.
type Conditional interface {
	Available(s TurnContext) bool
}

// Spec describes an action to the model, to the runtime, and to users. The visible part of its calls depends on the
// reader. Owners, and everyone who uses a gateway that only its own machine can reach, see the name, the parameters and
// the result. All others see Label, the stage, and the texts for users: Compact, [Result].Short and [Call.Short], and
// its output ([Call.Update]). These must therefore contain nothing that is only for owners.
type Spec struct {
	Name string
	// Label is the name for users, such as "Order status"; at most MaxLabel characters. If it is empty, it is made from
	// Name: PLAY_MUSIC becomes "Play music".
	Label string
	// Hide hides the calls from all but owners. Their output and their files stay visible.
	Hide        bool
	Similes     []string // alternative names that models use
	Description string
	Parameters  json.RawMessage // JSON schema of an object; nil means no parameters
	Unlisted    bool            // not listed to the model, but callable
	Quiet       bool            // its calls are neither shown nor remembered: they only end a turn
	Effect      Effect
	Limit       time.Duration // time limit; default one minute
	// Compact returns the parameters in one line, for everyone who reads the answer. If it is nil, owners see a list of
	// the values, and others see no parameters. It is also called with incomplete parameters.
	Compact func(params map[string]any) string
}

// Title returns the action's name for users: see [Spec.Label].
func (s Spec) Title() string {
	return text.Brief(text.OneLine(cmp.Or(s.Label, text.NameLabel(s.Name)), MaxLabel), MaxLabel)
}

// Tool returns the action's description for the model.
func (s Spec) Tool() llm.Tool {
	return llm.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters}
}

// Effect is the lasting side effect of an action. It determines whether calls are journaled, and which calls
// written as plain text are executed.
type Effect uint8

// Changes reports whether calls have lasting side effects.
func (e Effect) Changes() bool { return e != Reads }

// String returns the word of the configuration for the effect.
func (e Effect) String() string {
	return [...]string{"write", "read", "write", "dangerous"}[e]
}

// The effects, from harmless to grave. A call that Writes is journaled before and after, never canceled and never
// repeated. The same holds for a Dangerous one, whose approval is for this call alone.
const (
	undeclared Effect = iota // treated as Writes
	Reads
	Writes
	Dangerous
)

// Result is the outcome of an action.
type Result struct {
	Text  string // for the model
	Short string // one line for everyone who reads the answer
	// Files are shown to users below the answer, images inline, each up to 8 MiB. Up to 24 MiB of them are stored with
	// it.
	Files []llm.File
	// Last ends the turn: the model is not called again after this round. A turn without any output then counts as
	// ignored.
	Last bool
}

// Acted is a completed call, or one that could not be made.
type Acted struct {
	Action     string // the canonical name; of a call that could not be made, the name that the model wrote
	Parameters json.RawMessage
	Made       json.RawMessage // the parameters that an approver wanted instead; nil: Parameters
	Result     Result
	Err        string // as reported to the model; empty on success
	NotMade    bool   // Err is the reason why it could not be made; its parameters may be no JSON
}

// ForModel returns the result as the model sees it.
func (a Acted) ForModel() string {
	changed := ""
	if a.Made != nil {
		changed = "[A person changed the parameters before they approved the call. It was made with " + string(a.Made) + "]\n"
	}
	if a.Err != "" {
		return changed + "Error: " + a.Err
	}
	return changed + a.Result.Text
}

// A PublicError is an error of an action whose text is also for users, as the end of the call: a sentence without
// internal details. Of other errors, users only see that the call failed.
type PublicError struct {
	Text   string
	Detail bool // only for users who see the details of calls: the text was written for a model, such as that of an MCP server
}

// Error implements error.
func (e *PublicError) Error() string { return e.Text }

// A Guarded action needs an approval for some of its calls. The runtime asks for it before the call is made.
type Guarded interface {
	// Guard returns the required approval, or nil if the call can be made at once. It must not have side effects.
	Guard(c *Call) *Approval
}

// Approval describes a call that needs one.
type Approval struct {
	// Server is the source of the action, such as the name of an MCP server, and Tool its name there.
	Server, Tool string
	// Shown describes the effect of the call to users. Empty: the parameters.
	Shown string
	// Public describes the call to users who can't approve it; it reveals neither parameters nor names. Empty: the title of the action.
	Public string
	// Kind identifies the definition of the action: its name, description, schema and effect. An approval for all calls
	// lapses when it changes. If it is empty, an approval for all calls is not offered.
	Kind string
	// Effect is the effect of the call, if it is not that of the action.
	Effect Effect
}

// A Consenting action asks users itself before some of its calls, with package consent. If a call also needs an approval,
// only the approval is asked for.
type Consenting interface {
	// Consent reports whether a user was asked about this call and has decided. refused is the reason why the call can't be
	// made, for the model; it is empty if it can. While the run waits, it fails with [chat.ErrParked]; Consent is called
	// again when the run continues, possibly by another process. After any other error the call is not made. It must not
	// have other side effects.
	Consent(ctx context.Context, c *Call) (asked bool, refused string, err error)
}

// A Delegate is an action that stands for others: the call is made as a call of another action.
type Delegate interface {
	// Delegated returns the name of the other action and its parameters. The model receives an error as the result.
	Delegated(params json.RawMessage) (name string, inner json.RawMessage, err error)
}
