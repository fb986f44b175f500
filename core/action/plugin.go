package action

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"time"

	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
)

// A Plugin bundles capabilities of the agent. It is plain data, listed by the program that builds the gateway.
type Plugin struct {
	Name       string
	Actions    []Action
	Providers  []Provider
	Evaluators []Evaluator
	Templates  map[string]string // by [prompt.TemplateName]: they override the built-in ones; the character's override both
	// TypeTemplates override Templates for the agents of one type, by agent.type of the configuration and
	// [prompt.TemplateName]. One plugin can thus serve a support agent and a storyteller.
	TypeTemplates  map[string]map[string]string
	Observers      []event.Observer
	ChoiceHandlers []ChoiceHandler
	// Live, if set, returns further actions that come and go while the gateway runs, such as those of a server. It is called in
	// each turn and must return at once: the same slice contents until something changes. One with an invalid schema, or with a
	// name that is taken, is left out and logged.
	Live func() []Action
	// Await, if set, waits for a live action with an unknown name, if it belongs to a server that is just being
	// started. It returns at once if waiting does not help. An error is the reason why the action can't be used at the
	// moment; it is for the model and for users.
	Await func(ctx context.Context, s TurnContext, name string, params json.RawMessage) error
	// Starting, if set, waits a moment for live actions while the gateway starts, so that the first question has them. It is called
	// before each answer, and returns at once after the start, and when ctx is done.
	Starting func(ctx context.Context)
	Commands []Command
	// Prompts, if set, returns the commands of a turn that the model answers: a provider of the plugin adds their
	// context. It must return at once.
	Prompts func(s TurnContext) []PromptCommand
	// Init, if set, is called once at each start of a gateway: after the names and schemas of all plugins were checked, before
	// Work and before the first turn. An error stops the start. It must return soon; long work belongs in Work, which is not
	// called if a later step of the start fails.
	Init func(ctx context.Context, s Services) error
	// Work, if set, runs in the background: [core.Runtime] calls it once at the start and waits for it at the end. It
	// must return soon after ctx is done, and can return earlier. A panic is logged and ends only this work.
	Work func(ctx context.Context)
	// Initiative reports whether Work sends messages at stored times. After the store was restored from a backup, Work then
	// begins only when the owner has confirmed it.
	Initiative bool
}

// For returns the plugin as an agent of a type uses it: with the templates of that type in Templates.
func (p Plugin) For(agentType string) Plugin {
	own := p.TypeTemplates[agentType]
	if agentType == "" || len(own) == 0 {
		return p
	}
	templates := maps.Clone(p.Templates)
	if templates == nil {
		templates = map[string]string{}
	}
	maps.Copy(templates, own)
	p.Templates = templates
	return p
}

// A Provider adds context to the prompt of a turn.
type Provider interface {
	Spec() ProviderSpec
	// Provide returns the current context; the zero ProviderResult adds nothing. The providers of a turn run
	// concurrently, each with its time limit; one that fails, panics or is late is left out. Provide must be safe for
	// concurrent use.
	Provide(ctx context.Context, s TurnContext) (ProviderResult, error)
}

// ProviderSpec describes a provider and when it is called.
type ProviderSpec struct {
	Name        string // in capitals, such as "TIME"
	Description string // for the model, which can request a dynamic provider
	Dynamic     bool   // called only on the model's request: by name in the text format, or by a tool call
	// Stable marks context that rarely changes between the turns of a room. It comes before the conversation, so that
	// the provider's prompt cache covers it.
	Stable bool
	// Flat limits the provider to prompts in a single text. With separate messages and tools, the model already has
	// this information.
	Flat bool
	// Own marks context that contains only words of the operator or the program, and no content from users, files, web
	// pages or tools. If a model copies a writing action from any other context, it needs the author's consent, because
	// that content can carry injected instructions.
	Own      bool
	Position int           // sort order, lowest first
	Values   []string      // the variables that its results can set
	Limit    time.Duration // time limit; default one second
}

// ProviderResult is the context that a provider adds.
type ProviderResult struct {
	Text   string            // for the prompt; user content must be escaped with [text.Label] and [text.Quote]
	Values map[string]string // template variables, as listed in the spec
	// Transcript follows the text, as formatted by [TurnContext.Transcript]: if it is too long, the oldest messages are
	// dropped.
	Transcript string
	// Own reports whether Text and Values of this result contain only words of the operator, the program and the asker: see
	// [TurnContext.Own]. Other results count as foreign, unless the spec says Own.
	Own bool
	// Recalled are the ids of the stored messages, and Facts the notes, that Text consists of. The receipt of the answer names them.
	Recalled []chat.MemoryID
	Facts    []chat.RoomNote
}

// An Evaluator reviews a turn after it has been answered, in the background: every few turns of a room, or the turns
// that it selects as a [TurnEvaluator]. The turns of a room are reviewed in order. When too many wait, a turn is left
// out, counted and logged.
type Evaluator interface {
	Name() string
	// Evaluate receives the answer. It runs under a time limit; errors are logged.
	Evaluate(ctx context.Context, s TurnContext, said chat.Memory) error
}

// Templated is a [Provider] or an [Evaluator] that is used only while the character or a plugin has a template of this name. It is for
// templates without a built-in text.
type Templated interface {
	Template() string
}

// TurnEvaluator is an [Evaluator] that chooses its turns.
type TurnEvaluator interface {
	Evaluator
	// Wants reports whether to review a turn. It must return at once.
	Wants(s TurnContext) bool
}

// Services are the services of the gateway for [Plugin.Init]. The plugin can keep them until its Work returns. Safe for
// concurrent use.
type Services struct {
	Log    *slog.Logger // adds the name of the plugin to every line
	State  State        // each plugin has its own
	Models llm.Models   // their cost counts towards the limits
	// Say sends a message of the agent, on its own initiative: see [core.Runtime].
	Say func(ctx context.Context, n chat.Notice) (chat.Accepted, error)
	// TellOwners sends a text, or a sentence of package lang with its placeholders, to each owner in their direct chat, as
	// far as these are known, once for each key.
	TellOwners func(ctx context.Context, key, sentence string, pairs ...any) error
	// Task gives the agent a task. It fails with [chat.ErrNotFound] or [chat.ErrUnreached] if the task can't be done in
	// that room; after any other error it is not accepted and must come again.
	Task func(ctx context.Context, t chat.Task) (chat.Accepted, error)
	// Update is Task for a message whose text a later one with its key replaces: see [core.Runtime].
	Update func(ctx context.Context, t chat.Task) (chat.Accepted, error)
	// Title sets the title of a conversation whose address is [chat.Address.Untitled] on its platform.
	Title func(ctx context.Context, to chat.Address, title string) error
}

// State stores data across restarts: little, and rarely written. Its methods fail with the error of the store.
type State interface {
	// Keep stores value under name, in place of the earlier one. The value is durable when Keep returns.
	Keep(ctx context.Context, name, value string) error
	// Kept returns the last value under name, or "".
	Kept(ctx context.Context, name string) (string, error)
	// Swap stores value under name if the stored value is old, where "" is none, and reports whether it did: several
	// gateways can share the values.
	Swap(ctx context.Context, name, old, value string) (bool, error)
}

// A Command executes a message such as "/reminders" with the name of a [chat.CommandName]. It is answered at once,
// without a model, and is no part of prompts.
type Command struct {
	Name chat.CommandName
	// Run returns the reply. It is not called for users without access, and can be called again after a crash.
	Run func(ctx context.Context, c CommandCall) (string, error)
	// Complete, if set, returns the values of the argument that the author of a command can choose from. c has no message that
	// is stored. It must return soon.
	Complete func(ctx context.Context, c CommandCall) ([]chat.Suggestion, error)
}

// A PromptCommand is a message such as "/review main.go" that the model answers like any other, with context that a
// plugin adds. Its fields can come from outside.
type PromptCommand struct {
	Name        string // without the slash
	Arguments   string // the text that can follow the name, in one line; can be empty
	Description string // in one line; can be empty
	Options     []chat.CommandOption
}

// CommandCall is one use of a command.
type CommandCall struct {
	Room      chat.Room
	Message   chat.Memory // the command as it was written
	Arguments string      // the text after the name
	Owner     bool        // whether an owner of the agent wrote it
}

// A ChoiceHandler processes a choice that a user made. Plugins provide them.
type ChoiceHandler interface {
	Name() string
	// Chosen processes the choice and returns a reply, which can be empty. A choice is final, but after a crash Chosen
	// can be called again, so it should be idempotent. It fails with [chat.Refused] if the choice has no effect, and if it can't be processed.
	Chosen(ctx context.Context, q chat.Question) (says string, err error)
}

// A RetiredHandler is a [ChoiceHandler] that describes the result of a question that was closed without a choice.
type RetiredHandler interface {
	// Retired returns a line that replaces the options of q; empty for none. It fails with the error of the store.
	Retired(ctx context.Context, q chat.Question) (says string, err error)
}

// A SchemaCompiler compiles the JSON schema of an object to a check, whose errors name the field and the violation. The
// check is safe for concurrent use.
type SchemaCompiler func(schema json.RawMessage) (check func(params json.RawMessage) error, err error)

// The names of the built-in handlers of choices, for a [chat.Question]. See also [Awaited] and [Parked].
const (
	// AsMessage answers the option as if its chooser had written it.
	AsMessage = "message"
	// Forget clears the room if the first option was chosen.
	Forget = "forget"
)

// MaxOptions bounds the options of a question, on every platform: Telegram's and Discord's buttons could show more, but not well.
const MaxOptions = 10
