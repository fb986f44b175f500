// Package llm defines the input and output of language models, independently of the provider: requests, messages,
// streamed chunks, usage and failures. Models are implemented elsewhere; the core calls them through the small
// interfaces of this package.
package llm

import (
	"context"
	"encoding/json"
	"iter"

	"parley/core/text"
)

// Model generates text and tool calls.
type Model interface {
	// Generate yields the model's output as a stream, until it ends, fails, or ctx is done. Only the model's own output
	// is yielded, no keep-alives, so that the caller can detect a stalled stream. An error is the last item; it is a
	// [*Failure] unless ctx was done. Breaking out of the loop cancels the request. Implementations make one attempt:
	// retries are up to the caller. Generate must be safe for concurrent use.
	Generate(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// Models are the models by purpose. Small falls back to Large; the others can be nil, which disables their features.
type Models struct {
	Large       Model // answers
	LargeVision bool  // Large accepts images, see [Message.Images]
	LargeAgent  bool  // Large is an agent with tools of its own: it only answers users
	// LargeThinking is the visible part of Large's reasoning.
	LargeThinking Thinking
	Small         Model // for decisions, summaries and reflection
	// Vision describes images: it receives [Message.Images].
	Vision         Model
	Transcriber    Transcriber
	ImageGenerator ImageGenerator
	Speaker        Speaker
	Embedder       Embedder
	// Chat are the models that can answer, with distinct names; the first is Large. Empty: only Large, as [DefaultName].
	Chat []Named
}

// Answering returns the models that can answer, at least one.
func (m Models) Answering() []Named {
	if len(m.Chat) > 0 {
		return m.Chat
	}
	return []Named{{Name: DefaultName, Model: m.Large, Vision: m.LargeVision, Agent: m.LargeAgent, Remembers: m.LargeAgent, Thinking: m.LargeThinking}}
}

// SmallOrLarge returns the model for short questions. It is nil if there is only an agent, which could act on them.
func (m Models) SmallOrLarge() Model {
	if m.Small == nil && !m.LargeAgent {
		return m.Large
	}
	return m.Small
}

// Named is a model that can answer, by the owner's name for it.
type Named struct {
	Name    string
	Model   Model
	Label   string // its name at the provider, for users; can be empty
	Vision  bool   // it accepts images, see [Message.Images]
	NoTools bool   // it can't call tools
	Agent   bool   // it is an agent with tools of its own: it only answers users
	// Remembers means that it can keep its own memory of conversations: requests to it have a [Session].
	Remembers bool
	// Files means that it takes the files of the question as they are.
	Files bool
	// FileLinks means that it fetches these files itself: see [File.URL].
	FileLinks bool
	Thinking  Thinking // the visible part of its reasoning
	Prompt    int      // the maximum tokens of its prompts, instead of the usual one; 0 means the usual one
	Fallback  []string // the names of its fallbacks, in order
}

// DefaultName is the name of the model that answers, if the owner gives none.
const DefaultName = "default"

// Transcriber transcribes speech. Its errors are like those of [Model].
type Transcriber interface {
	// Transcribe transcribes a whole file; name and mime identify its format. It fails with a [*Failure] unless ctx was
	// done.
	Transcribe(ctx context.Context, name, mime string, sound []byte) (string, error)
}

// ImageGenerator generates images. Its errors are like those of [Model].
type ImageGenerator interface {
	// GenerateImage generates one image. It fails with a [*Failure] unless ctx was done.
	GenerateImage(ctx context.Context, prompt string) (File, error)
}

// Speaker speaks texts. Its errors are like those of [Model].
type Speaker interface {
	// Speak returns a recording of text. voice is the provider's name of a voice; empty: the
	// usual one. It fails with a [*Failure] unless ctx was done.
	Speak(ctx context.Context, text, voice string) (File, error)
}

// Embedder computes embeddings. Its errors are like those of [Model].
type Embedder interface {
	// Embed returns one vector per text, in the same order, all of the same length. It fails with a [*Failure] unless
	// ctx was done.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Request is the input of one model call.
type Request struct {
	System   string
	Messages []Message // oldest first
	Tools    []Tool
	// MaxTokens limits the answer; 0 means no limit. A lower limit of the model itself applies too.
	MaxTokens int
	// Readable requests reasoning as text, from providers that send it only on request: see [Chunk.Reasoning].
	Readable bool
	// Session is the conversation, for a model that remembers it; nil for others, and for questions outside of a conversation.
	Session *Session
}

// Tool describes a tool that a model can call. Parameters is the JSON schema of an object.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Bounded is implemented by a [Model] with its own limit for each answer. Other models have none.
type Bounded interface {
	MaxTokens() int // 0 means no limit
}

// Role is the author role of a [Message].
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a prompt.
type Message struct {
	// ID identifies the message in all prompts of its conversation; "" if it is only a part of this prompt. It contains ids
	// of platforms, so it is not sent as it is.
	ID      string
	Role    Role
	Text    string
	Images  []File     // of User: attached images; only for models with vision
	Files   []File     // of User: other attached files, for models that take them: see [Named.Files]
	Context bool       // of User: context from the gateway, not a participant's message
	Calls   []ToolCall // of Assistant: tool calls, after the text
	Call    string     // of RoleTool: the id of the call that Text is the result of
	Opaque  *Opaque    // of Assistant: see there
}

// Opaque is data that a model needs back with its message, such as encrypted reasoning and signatures. It lives as long
// as the rounds of one answer, and is stored only while that waits for a person.
type Opaque struct {
	Owner string // the kind of model that reads it. Others ignore it
	Data  json.RawMessage
}

// Of returns the data for owner, or nil.
func (o *Opaque) Of(owner string) json.RawMessage {
	if o == nil || o.Owner != owner {
		return nil
	}
	return o.Data
}

// ToolCall is a tool call requested by a model.
type ToolCall struct {
	ID         string
	Name       string
	Parameters json.RawMessage // as written by the model: not validated yet
}

// Chunk is one piece of a model's output. Its fields are independent; unset ones mean nothing.
type Chunk struct {
	Text string // raw text, which can contain thoughts and calls
	// Rewrites means that Text replaces the text of this answer since the last [RemoteCall].
	Rewrites bool
	Call     *CallDelta
	Remote   *RemoteCall  // a call that is shown, not made
	Finish   FinishReason // at most once, near the end
	Usage    *Usage       // at most once
	Alive    bool         // hidden output such as reasoning: the stream is not stalled
	// Reasoning is the next piece of readable reasoning, if the provider sends that. It is never part of the answer.
	// Chunks with it are Alive.
	Reasoning string
	Opaque    *Opaque // at most once, near the end: it belongs into the message with this answer
	Status    *Status // replaces the status with the same id
	// Acts announces a request that must not be repeated, because it continues an earlier one: it is sent after yield has
	// returned, and not sent if yield returned false.
	Acts bool
	// State is kept for the next request of the [Session], in place of the one before. The latest one of a complete output counts.
	State json.RawMessage
}

// CallDelta is one piece of a tool call. Pieces of parallel calls can interleave; Index tells them apart.
type CallDelta struct {
	Index      int
	ID         string // in the first piece
	Name       string // in the first piece
	Parameters string // the next piece
}

// FinishReason is the reason why a model stopped.
type FinishReason string

// The reasons, as chat completions name them.
const (
	FinishStop   FinishReason = "stop"
	FinishLength FinishReason = "length"
	FinishCalls  FinishReason = "tool_calls"
	FinishFilter FinishReason = "content_filter"
)

// Usage is the number of tokens that a call used.
type Usage struct {
	Prompt, Completion int
	Cached             int // of Prompt: read from the provider's cache
	CacheWritten       int // of Prompt: written to it, where that has its own price
}

// Plausible reports whether a usage that a provider reported can be true: no number is below zero, or more than a
// billion. An implausible one is treated as no report.
func (u Usage) Plausible() bool {
	return min(u.Prompt, u.Completion, u.Cached, u.CacheWritten) >= 0 && max(u.Prompt, u.Completion, u.Cached, u.CacheWritten) <= mostReported
}

// mostReported is more tokens than a call can have.
const mostReported = 1_000_000_000

// UsageSum is the number of tokens that the calls of language models for one answer used. It is stored as JSON.
type UsageSum struct {
	Calls      int    `json:"calls"` // those that a provider has accepted
	Prompt     int    `json:"prompt"`
	Completion int    `json:"completion"`
	Cached     int    `json:"cached,omitempty"`    // of Prompt: read from the provider's cache
	Provider   string `json:"provider,omitempty"`  // of the model that answered last
	Model      string `json:"model,omitempty"`     // its name at the provider
	Estimated  bool   `json:"estimated,omitempty"` // a provider did not report its part, or an earlier process's part is unknown
}

// Add returns the sum of two usages, with the model of the later one if that has any.
func (u UsageSum) Add(later UsageSum) UsageSum {
	u.Calls, u.Prompt, u.Completion, u.Cached = u.Calls+later.Calls, u.Prompt+later.Prompt, u.Completion+later.Completion, u.Cached+later.Cached
	u.Estimated = u.Estimated || later.Estimated
	if later.Provider != "" {
		u.Provider, u.Model = later.Provider, later.Model
	}
	return u
}

// RemoteCall is one piece of a tool call that the provider runs, for example an external agent with tools of its own.
// The runtime shows it and never makes it. Its pieces come in this order: the first one, parameters, Running, Ended.
type RemoteCall struct {
	ID         string // the same in every piece of the call, and unique within the answer
	Name       string // in the first piece
	Parameters string // the next piece, of JSON
	Running    bool   // the parameters are complete
	Short      string // with Running: the progress in one line, for everyone who reads the answer
	Ended      bool
	Result     string // with Ended
	Files      []File // with Ended: shown below the answer
	Error      string // with Ended: the reason of the failure, for the record; empty if it succeeded
}

// Thinking is the visible part of a model's reasoning before it answers.
type Thinking string

// Words returns the words of the configuration.
func (Thinking) Words() []string {
	return []string{string(ThinkingOff), string(ThinkingStatus), string(ThinkingFull)}
}

// The ways. The empty Thinking is [ThinkingStatus].
const (
	ThinkingOff    Thinking = "off"    // nothing
	ThinkingStatus Thinking = "status" // the fact that it reasons
	ThinkingFull   Thinking = "full"   // also its reasoning, where that can be collapsed: never in messages
)

const (
	TokensPerMessage = 4    // overhead of a message, in tokens
	imageTokens      = 1000 // estimate for one image
)

// EstimateTokens estimates the number of tokens of a request.
func EstimateTokens(req Request) int {
	n := text.Tokens(req.System)
	for _, t := range req.Messages {
		n += text.Tokens(t.Text) + TokensPerMessage + imageTokens*len(t.Images)
		for _, c := range t.Calls {
			n += text.Tokens(c.ID, c.Name) + text.Tokens([]byte(c.Parameters))
		}
	}
	for _, t := range req.Tools {
		n += text.Tokens(t.Name, t.Description) + text.Tokens([]byte(t.Parameters)) + TokensPerMessage
	}
	return n
}
