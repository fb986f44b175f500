package llm

import (
	"context"
	"encoding/json"
	"iter"
)

// Model writes text and asks for actions.
type Model interface {
	// Generate yields what the model says, piece by piece, until it has no more, fails, or ctx is done. Only what
	// the model itself produced is yielded: no piece stands for a keep-alive, so that silence can be told (LM-03).
	// An error is the last thing yielded; it is a [*Failure] unless ctx was done. A reader that stops the loop
	// cancels the request. Implementations make one attempt: retries are the caller's. Safe for concurrent use.
	Generate(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// Models are the models by what they do. Small falls back to Large; the others may be nil, and what needs them then says so.
type Models struct {
	Large       Model // answers
	LargeVision bool  // Large is shown the pictures that people send, with [Message.Images]
	Small       Model // decides, sums up, reflects
	// Vision describes pictures: it is asked with [Message.Images].
	Vision      Model
	Transcriber Transcriber
	Painter     ImageGenerator
	Embedder    Embedder
}

// SmallOrLarge is the model for short questions.
func (m Models) SmallOrLarge() Model {
	if m.Small != nil {
		return m.Small
	}
	return m.Large
}

// Transcriber writes down what is said in a recording. Errors are as those of [Model].
type Transcriber interface {
	// Transcribe takes the whole file; name and mime say what it is.
	Transcribe(ctx context.Context, name, mime string, sound []byte) (string, error)
}

// ImageGenerator makes pictures. Errors are as those of [Model].
type ImageGenerator interface {
	// Paint makes one picture.
	Paint(ctx context.Context, prompt string) (File, error)
}

// Embedder gives texts a place by what they mean. Errors are as those of [Model].
type Embedder interface {
	// Embed returns one vector for each text, in their order, all of one length.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Request is one call of a model.
type Request struct {
	System   string
	Messages []Message // oldest first
	Tools    []Tool
	// MaxTokens bounds the answer; 0 leaves it to the model. A lower maximum of the model's own counts.
	MaxTokens int
}

// Tool describes a tool that a model can call. Parameters is the JSON schema of an object.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Bounded is implemented by a [Model] that has a maximum of its own for each answer. Others write as much as they like.
type Bounded interface {
	MaxTokens() int // 0 is none
}

// Role says who speaks in a [Message].
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a prompt.
type Message struct {
	Role    Role
	Text    string
	Images  []File     // of User: what it shows; only for models that see
	Context bool       // of User: context from the gateway, not a participant's message
	Calls   []ToolCall // of Assistant: what it asked for, after the text
	Call    string     // of ToolRole: the id of the call whose result Text is
}

// ToolCall is a model's wish for an action.
type ToolCall struct {
	ID         string
	Name       string
	Parameters json.RawMessage // as the model wrote them: not yet known to be valid
}

// Chunk is one piece of what a model says. Its fields are independent; unset ones say nothing.
type Chunk struct {
	Text   string // as it comes, with what the model thinks aloud or calls in it
	Call   *CallDelta
	Finish FinishReason // why it stopped; at most once, near the end
	Usage  *Usage       // at most once
	Alive  bool         // reasoning and the like: not for people, but proof that the model is at work
}

// CallDelta is one piece of a call. Pieces of parallel calls come mixed; Index tells them apart.
type CallDelta struct {
	Index      int
	ID         string // in the first piece
	Name       string // in the first piece
	Parameters string // what is added
}

// FinishReason is why a model stopped.
type FinishReason string

// The reasons, as chat completions name them.
const (
	FinishStop   FinishReason = "stop"
	FinishLength FinishReason = "length"
	FinishCalls  FinishReason = "tool_calls"
	FinishFilter FinishReason = "content_filter"
)

// Usage is what a call cost, in tokens.
type Usage struct{ Prompt, Completion int }
