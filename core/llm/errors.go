package llm

import (
	"errors"
	"fmt"
	"time"
)

// ErrStalled is why a call of a model is cancelled that sends nothing any more.
var ErrStalled = errors.New("the model stopped sending data")

// FailureKind says why there is no answer, in the words that the web API uses. People read its Sentence.
type FailureKind string

// The kinds of failures.
const (
	InsufficientCredits FailureKind = "insufficient_credits"
	NoProvider          FailureKind = "no_provider"
	LocalInference      FailureKind = "local_inference"
	RateLimited         FailureKind = "rate_limited"
	GenerationTimeout   FailureKind = "generation_timeout"
	ProviderIssue       FailureKind = "provider_issue"
	PromptTooLong       FailureKind = "prompt_too_long"
	ConversationTooLong FailureKind = "conversation_too_long" // more than the model reads at once (LM-08)
	SetAside            FailureKind = "set_aside"             // processes died while they held the run
	ActionFailed        FailureKind = "action_failed"         // of an [chat.ActionResult] only
)

// Sentence is what people read: short, true, and with what to do (LM-14).
func (k FailureKind) Sentence() string {
	switch k {
	case InsufficientCredits:
		return "The model provider account is out of credit. The person who runs this bot can top it up."
	case NoProvider:
		return "The model provider rejected the credentials. The person who runs this bot can check the API key and the model name."
	case LocalInference:
		return "The local model can't be reached. The person who runs this bot can start it; then try again."
	case RateLimited:
		return "The model is busy right now. Please try again in a minute."
	case ConversationTooLong:
		return "This conversation is too long for the model. Send /new to start over."
	case SetAside:
		return "I couldn't finish answering this. Please ask again or rephrase it."
	case GenerationTimeout:
		return "The model took too long. Please try again."
	case PromptTooLong:
		return "The agent's character prompt is too long. The person who runs this bot can shorten it or raise agent.prompt_tokens."
	default:
		return "Something went wrong while contacting the model. Please try again."
	}
}

// Unpaid reports whether a provider that fails so has done nothing that it bills.
func (k FailureKind) Unpaid() bool {
	switch k {
	case InsufficientCredits, NoProvider, LocalInference, RateLimited:
		return true
	}
	return false
}

// Failure is an error of a model. Err is for the log; Kind decides what people read.
type Failure struct {
	Kind FailureKind
	// Retry says that the same request may do better later, not before After.
	Retry bool
	After time.Duration
	Err   error
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", f.Kind, f.Err) }

func (f *Failure) Unwrap() error { return f.Err }
