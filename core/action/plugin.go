package action

import (
	"context"
	"time"

	"parley/core/chat"
	"parley/core/event"
)

// Plugin is a bundle of what the agent can do. It is data: whoever builds the gateway lists it.
type Plugin struct {
	Name       string
	Actions    []Action
	Providers  []Provider
	Evaluators []Evaluator
	Templates  map[string]string // by [prompt.TemplateName]: they stand in for the built-in ones, and give way to the character's
	Observers  []event.Observer
	Choosers   []ChoiceHandler
	// Work, if there is any, runs beside the turns: [core.Runtime] calls it once and waits for it at its end. It returns soon after
	// ctx is done, and may return earlier. A panic is logged and ends this work alone.
	Work func(ctx context.Context)
}

// Provider tells the model something about the world of a turn.
type Provider interface {
	Spec() ProviderSpec
	// Provide returns what is to be told now; a zero Fragment is nothing. Providers of a turn run side by side, each within
	// its time; one that fails, breaks or is late is left out. Safe for concurrent use.
	Provide(ctx context.Context, s TurnContext) (ProviderResult, error)
}

// ProviderSpec says what a provider is and when it is asked.
type ProviderSpec struct {
	Name        string // in capitals, as "TIME"
	Description string // of a dynamic one: for the model, which may ask for it
	Dynamic     bool   // asked only when the model wants it: a form names it, and natively there is a call for that
	// Stable says that it tells the same in every turn of a room, but for rare changes: it then stands before the
	// conversation, where the caches of model providers hold.
	Stable bool
	// Flat says that it is only asked for prompts that are one text: where the conversation and the actions have their own
	// places, the model has this already.
	Flat bool
	// Own says that what it tells are the operator's or the program's words alone, and nothing that people, files, pages or tools
	// said. Writing actions that a model copies from anything else need the asker's word.
	Own      bool
	Position int           // where it stands among the others, those with small numbers first
	Values   []string      // the variables that its fragments may carry
	Limit    time.Duration // how long it may take; 0 is a second
}

// ProviderResult is what a provider tells.
type ProviderResult struct {
	Text   string            // for the prompt; what people wrote stands there as [text.Label] and [text.Quote] make it
	Values map[string]string // variables for templates, by the names that the spec lists
	// Transcript stands below the text, as [TurnContext.Transcript] makes it: where it is too long, the oldest messages are left out.
	Transcript string
}

// TurnContext is the turn that providers, evaluators and actions are asked about.
type TurnContext struct {
	Agent   chat.Agent
	Run     chat.RunID
	Room    chat.Room
	Message chat.Memory   // the newest that is answered
	Recent  []chat.Memory // what was said in the room up to this turn, oldest first
	Private bool
	// Attached are the messages of the room's latest that have files, oldest first, with all that was read of these: Recent may
	// hold the beginnings alone, or not the message any more.
	Attached []chat.Memory
	// Owner says that all that is answered was written by owners of the agent, and Allowed, that it was by people whom an
	// owner has named, by their account or a role, rather than by guests. Both follow from who they are on their platform, never from what a text
	// says (SE-08).
	Owner, Allowed bool
	Summary        string // what was said before Recent, in short; empty if that is unknown or nothing
	Actions        []Spec // what the agent can do in this turn

	Answered []chat.MemoryID // what is answered
	AskModel func(ctx context.Context, s TurnContext, template string, more map[string]string) (string, error)
}

// Evaluator looks back on a turn when it has been answered. Nobody waits for it.
type Evaluator interface {
	Name() string
	// Evaluate is given what was said. It runs under a time limit; its error is logged.
	Evaluate(ctx context.Context, s TurnContext, said chat.Memory) error
}
