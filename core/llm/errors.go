package llm

import (
	"errors"
	"fmt"
	"time"

	"parley/internal/lang"
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
func (k FailureKind) Sentence(v lang.Voice) string {
	key := "failure." + string(k)
	if said := v.Say(key); said != key {
		return said
	}
	return v.Say("failure.provider_issue")
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
