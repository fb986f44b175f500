package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/core/llm"
)

// setting is an error that only another configuration resolves. Its text contains no secrets, so it is shown as it is.
type setting struct {
	kind llm.FailureKind
	text string
}

func (s *setting) Error() string { return s.text }

// report is an error that may be logged: cleaned of secrets. It does not wrap the original, which a %+v or a type
// switch could print.
type report struct {
	text   string
	status int  // the HTTP status; 0 for none
	set    bool // only another configuration resolves it, and text names it
}

func (r *report) Error() string { return r.text }

// Failure turns any error of a call into a [*llm.Failure], except the cancellation by its caller, which the callers of
// Failure handle before.
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
		err = u.Err // its own text has the whole address, with query and password
	}
	told.text = m.redact.Clean(m.Base.Host + ": " + err.Error())
	if told.set {
		told.text = err.Error()
	}
	f.Err = told
	return f
}

// sort returns a Failure without its Err.
func (m *Endpoint) sort(err error) *llm.Failure {
	if r, ok := errors.AsType[*Refusal](err); ok {
		kind, retry := r.sort()
		return &llm.Failure{Kind: kind, Retry: retry, After: r.after}
	}
	if missing, ok := errors.AsType[*setting](err); ok {
		return &llm.Failure{Kind: missing.kind}
	}
	// A local server that can't be reached is usually not running, which has another remedy than a provider that is
	// down.
	if _, ok := errors.AsType[unreached](err); ok && isLocal(m.Base) {
		return &llm.Failure{Kind: llm.LocalInference}
	}
	// Retrying doesn't change a certificate, or the server at an address.
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &llm.Failure{Kind: llm.WrongCertificate}
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return &llm.Failure{Kind: llm.WrongAddress}
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return &llm.Failure{Kind: llm.GenerationTimeout, Retry: true}
	}
	return &llm.Failure{Kind: llm.ProviderIssue, Retry: true}
}

// Filtered reports whether the provider's content filter refused to answer. That is a regular end of an answer, not a
// failure to retry.
func Filtered(err error) bool {
	r, ok := errors.AsType[*Refusal](err)
	return ok && (r.says("content_filter") || r.saysAny("content_policy_violation", "moderation_blocked", "invalid_prompt", "bio_policy",
		"misalignment_policy_violation", "image_content_policy_violation"))
}

// says reports whether word is the provider's code or class.
func (r *Refusal) says(word string) bool {
	return strings.EqualFold(r.code, word) || strings.EqualFold(r.kind, word)
}

// sort returns the kind of failure, and whether the same request can succeed later. The provider's code is compared
// before the status, because statuses are ambiguous: an empty account is a 429 at OpenAI, a wrong key a 400 at Google.
func (r *Refusal) sort() (kind llm.FailureKind, retry bool) {
	switch {
	case r.Mentions("does not support tools", "support tool use", "tool choice requires", "does not support function calling", "tools is not supported", "tool calling is not supported"):
		return llm.NoTools, false
	case r.Mentions("does not support image", "support image input", "is not a multimodal model", "image input is not supported", "image_url is only supported"):
		return llm.NoVision, false
	case r.status == http.StatusPaymentRequired, r.saysAny(
		"insufficient_quota", "insufficient_credits", "insufficient_balance", "exceeded_current_quota_error",
		"billing_hard_limit_reached", "billing_not_active", "billing_error"),
		strings.Contains(r.message, "credit balance is too low"): // Anthropic calls it an invalid request
		return llm.InsufficientCredits, false
	case r.notModelServer():
		return llm.WrongAddress, false
	case r.noModel():
		return llm.NoModel, false
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden, r.saysAny(
		"invalid_api_key", "authentication_error", "permission_error", "permission_denied"),
		strings.Contains(r.message, "API key not valid"):
		return llm.NoProvider, false
	case r.tooLong():
		return llm.ConversationTooLong, false
	case r.status == http.StatusTooManyRequests, r.saysAny(
		"rate_limit_exceeded", "rate_limit_error", "rate_limited", "resource_exhausted", "too_many_requests"):
		return llm.RateLimited, true
	case r.status == http.StatusRequestTimeout, r.status == http.StatusConflict, r.status == http.StatusTooEarly:
		return llm.ProviderIssue, true
	case r.status >= 400 && r.status < 500, r.saysAny("invalid_request_error"):
		return llm.ProviderIssue, false
	default:
		return llm.ProviderIssue, true
	}
}

// notModelServer reports whether the answer is not from a model server: a web page where an answer should be, a redirect,
// which is not followed, or a server that speaks TLS. A page with another status is one of a proxy whose server is down,
// or one that lets no one pass.
func (r *Refusal) notModelServer() bool {
	return r.page && (r.status == 0 || r.status == http.StatusNotFound) || r.status >= 300 && r.status < 400 ||
		r.Mentions("http request to an https server", "http request was sent to https port")
}

// noModel reports whether the provider does not have the model, or not for this account. It compares the codes and
// messages of OpenAI, Azure, Anthropic, Mistral, OpenRouter, DeepSeek and Cohere.
func (r *Refusal) noModel() bool {
	return r.status == http.StatusNotFound || r.saysAny("model_not_found", "not_found_error", "invalid_model", "DeploymentNotFound") ||
		r.Mentions("not a valid model id", "model not exist", "invalid model", "model not found", "no such model", "unknown model")
}

// Mentions reports whether the server refused the request, and its message contains one of parts, in any case. Servers have no codes
// for features that a model lacks: callers compare the messages of Ollama, OpenRouter, vLLM, Google and Groq.
func (r *Refusal) Mentions(parts ...string) bool {
	said := strings.ToLower(r.message)
	return r.status >= 400 && r.status < 500 && slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(said, p) })
}

// tooLong reports whether the prompt exceeds the model's context. Few servers have a code for it, so it also compares
// the messages of vLLM, llama.cpp, LM Studio, Ollama, Anthropic, Google and Mistral, in this order. The caller then
// shortens the conversation.
func (r *Refusal) tooLong() bool {
	if r.saysAny("context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "request_too_large") {
		return true
	}
	message := strings.ToLower(r.message)
	return slices.ContainsFunc([]string{
		"maximum context length", "exceeds the available context size", "greater than the context length", "input length exceeds",
		"prompt is too long", "exceeds the maximum number of tokens", "too large for model with",
	}, func(words string) bool { return strings.Contains(message, words) })
}

// saysAny reports whether one of words is the provider's code or class.
func (r *Refusal) saysAny(words ...string) bool { return slices.ContainsFunc(words, r.says) }
