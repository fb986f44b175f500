package llm

import (
	"errors"
	"fmt"
	"time"
)

// ErrStalled cancels a model call whose stream has stalled.
var ErrStalled = errors.New("the model stopped sending data")

// FailureKind is the reason for a missing answer, in the vocabulary of the web API. Users see its Sentence.
type FailureKind string

// The kinds of failures.
const (
	InsufficientCredits FailureKind = "insufficient_credits"
	NoProvider          FailureKind = "no_provider"       // the provider rejects the credentials
	NoModel             FailureKind = "no_model"          // the provider does not have the model
	WrongAddress        FailureKind = "wrong_address"     // the server at the address is not a model server
	WrongCertificate    FailureKind = "wrong_certificate" // the server's certificate is not valid
	LocalInference      FailureKind = "local_inference"
	RateLimited         FailureKind = "rate_limited"
	GenerationTimeout   FailureKind = "generation_timeout"
	ProviderIssue       FailureKind = "provider_issue"
	PromptTooLong       FailureKind = "prompt_too_long"
	ConversationTooLong FailureKind = "conversation_too_long" // exceeds the context window
	NoTools             FailureKind = "no_tools"              // the model refuses tools
	NoVision            FailureKind = "no_vision"             // the model refuses images
	ContentFilter       FailureKind = "content_filter"        // the provider's filter ended the answer
	SetAside            FailureKind = "set_aside"             // processes crashed while they held the run
	UnknownQuestion     FailureKind = "unknown_question"      // the agent does not know a question that was answered
	ActionFailed        FailureKind = "action_failed"         // only of an [chat.ActionResult]
)

// Sentence returns a short message for users that includes their options.
func (k FailureKind) Sentence() string {
	switch k {
	case InsufficientCredits:
		return "The model provider account is out of credit. The person who runs this bot can top it up."
	case NoProvider:
		return "The model provider rejected the credentials. The person who runs this bot can check the API key."
	case NoModel:
		return "The model isn't available at its provider. The person who runs this bot can check the model's name."
	case WrongAddress:
		return "The address of the model leads to something else. The person who runs this bot can correct it."
	case WrongCertificate:
		return "The certificate of the model's server isn't valid. The person who runs this bot can renew it or correct the address."
	case LocalInference:
		return "The local model can't be reached. The person who runs this bot can start it; then try again."
	case RateLimited:
		return "The model is busy right now. Please try again in a minute."
	case ConversationTooLong:
		return "This conversation is too long for the model. Send /new to start over."
	case NoTools:
		return "This model can't use tools. The person who runs this bot can set tools: false for it, or choose another model."
	case NoVision:
		return "This model can't see images. The person who runs this bot can set vision: false for it. Please ask again without the image."
	case ContentFilter:
		return "The answer was stopped by the provider's content filter."
	case UnknownQuestion:
		return "The agent no longer knows this question, so your decision had no effect. Please ask again."
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

// Unpaid reports whether a call that failed this way is not billed by the provider.
func (k FailureKind) Unpaid() bool {
	switch k {
	case InsufficientCredits, NoProvider, NoModel, WrongAddress, WrongCertificate, LocalInference, RateLimited, NoTools, NoVision:
		return true
	}
	return false
}

// Failure is an error of a model. Err is for the log; Kind determines the text for users.
type Failure struct {
	Kind FailureKind
	// Retry reports whether the same request can succeed later, not before After.
	Retry bool
	After time.Duration
	Err   error
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", f.Kind, f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }
