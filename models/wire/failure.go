package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"parley/core/llm"
)

// setting is an error that only another configuration mends. Its text holds no secret.
type setting struct{ text string }

func (s *setting) Error() string { return s.text }

// report is an error as it may be logged. What it came from can't be unwrapped: that may hold secrets.
type report struct {
	text   string
	status int  // of HTTP, where there was one
	set    bool // only another configuration mends it, and text says which
}

func (r *report) Error() string { return r.text }

// Failure sorts any error of a call that its caller did not end.
func (m *Endpoint) Failure(err error) *llm.Failure {
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return f
	}
	f := m.sort(err)
	told := &report{}
	if r, ok := errors.AsType[*Refusal](err); ok {
		told.status = r.status
	}
	_, told.set = errors.AsType[*setting](err)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its text would show the whole address
	}
	told.text = m.redact.clean(m.Base.Host + ": " + err.Error())
	if told.set {
		told.text = err.Error()
	}
	f.Err = told
	return f
}

// sort finds everything of a Failure but its Err.
func (m *Endpoint) sort(err error) *llm.Failure {
	if r, ok := errors.AsType[*Refusal](err); ok {
		kind, retry := r.sort()
		return &llm.Failure{Kind: kind, Retry: retry, After: r.after}
	}
	if _, ok := errors.AsType[*setting](err); ok {
		return &llm.Failure{Kind: llm.NoProvider}
	}
	if _, ok := errors.AsType[unreached](err); ok && isLocal(m.Base) {
		return &llm.Failure{Kind: llm.LocalInference}
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &llm.Failure{Kind: llm.ProviderIssue}
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return &llm.Failure{Kind: llm.GenerationTimeout, Retry: true}
	}
	return &llm.Failure{Kind: llm.ProviderIssue, Retry: true}
}

// Filtered reports whether the answer is none because the provider's filter forbids it: an end, not a failure (LM-07).
func Filtered(err error) bool {
	r, ok := errors.AsType[*Refusal](err)
	return ok && (r.says("content_filter") || r.saysAny("content_policy_violation", "moderation_blocked", "invalid_prompt", "bio_policy",
		"misalignment_policy_violation", "image_content_policy_violation"))
}

func (r *Refusal) says(word string) bool {
	return strings.EqualFold(r.code, word) || strings.EqualFold(r.kind, word)
}

// sort says what kind of failure r is, and whether the same request may do better later. The provider's word goes
// before the status: an empty account is a 429 at OpenAI, a wrong key a 400 at Google.
func (r *Refusal) sort() (kind llm.FailureKind, retry bool) {
	switch {
	case r.status == http.StatusPaymentRequired, r.saysAny(
		"insufficient_quota", "insufficient_credits", "insufficient_balance", "exceeded_current_quota_error",
		"billing_hard_limit_reached", "billing_not_active", "billing_error"),
		strings.Contains(r.message, "credit balance is too low"): // Anthropic calls it an invalid request
		return llm.InsufficientCredits, false
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden, r.status == http.StatusNotFound, r.saysAny(
		"invalid_api_key", "authentication_error", "permission_error", "permission_denied", "model_not_found", "not_found_error"),
		strings.Contains(r.message, "API key not valid"):
		return llm.NoProvider, false
	case r.tooLong():
		return llm.ConversationTooLong, false
	case r.status == http.StatusTooManyRequests, r.saysAny(
		"rate_limit_exceeded", "rate_limit_error", "rate_limited", "resource_exhausted", "too_many_requests"):
		return llm.RateLimited, true
	case r.status >= 300 && r.status < 400:
		return llm.NoProvider, false
	case r.status == http.StatusRequestTimeout, r.status == http.StatusConflict, r.status == http.StatusTooEarly:
		return llm.ProviderIssue, true
	case r.status >= 400 && r.status < 500, r.saysAny("invalid_request_error"):
		return llm.ProviderIssue, false
	default:
		return llm.ProviderIssue, true
	}
}

// tooLong says that the prompt is more than the model can read (LM-08), in the words of OpenAI, vLLM, llama.cpp, LM Studio,
// Ollama, Anthropic, Google and Mistral, in this order.
func (r *Refusal) tooLong() bool {
	if r.saysAny("context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "request_too_large") {
		return true
	}
	message := strings.ToLower(r.message)
	for _, words := range []string{
		"maximum context length", "exceeds the available context size", "greater than the context length", "input length exceeds",
		"prompt is too long", "exceeds the maximum number of tokens", "too large for model with",
	} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

func (r *Refusal) saysAny(words ...string) bool {
	for _, w := range words {
		if r.says(w) {
			return true
		}
	}
	return false
}
