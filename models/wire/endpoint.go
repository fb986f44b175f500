// Package wire is the common part of models that speak HTTP with a provider: connections, the reading of refusals,
// errors without secrets, names of tools that APIs accept, streams of events, and checks with advice for the owner.
//
// An [Endpoint] is one model at one server. A package for a provider embeds it, makes requests with [Endpoint.Client]
// and the middleware [Refuse], and runs them in [Endpoint.Run] or [Once]. These turn every error into a [*llm.Failure]:
// sorted by its effect on users and retries, with a text that is safe to log. They make one attempt; retries and
// fallbacks to other models are the caller's.
package wire

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"parley/core/llm"
	"parley/internal/redact"
)

// Options identify a server, and a model of it.
type Options struct {
	BaseURL string
	APIKey  string // empty if the server needs none
	Model   string // empty: the only one that the server has, see [Endpoint.Resolve]
	// Settings are the names of settings that errors tell the owner to change.
	Settings Settings
	// Dial opens connections; nil uses the network, through the proxy that the environment names (HTTP_PROXY and
	// others).
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Defaults are the parameters that requests have although no owner has configured them; see [Endpoint.Sends].
	Defaults []DefaultParameter
	// Header is sent with each request of [Endpoint.Ask] and [Endpoint.Stream]: the key, usually.
	Header http.Header
	// Log gets the features that requests are made without; nil discards it.
	Log *slog.Logger
}

// Settings has the names of settings for messages to the owner, such as "models.large.model (OPENAI_MODEL)".
type Settings struct{ Model, Key, URL string }

// Endpoint is one model at one server. It is safe for concurrent use.
type Endpoint struct {
	Options
	Base    *url.URL
	Invalid error // why the options can't work; the error of every call
	// List returns the names of the server's models. The embedding package must set it before the first call.
	List func(ctx context.Context) ([]string, error)
	// Advice, if set, returns the remedy for a failure of a check, given the HTTP status, or 0. "" leaves it to the
	// Endpoint.
	Advice func(kind llm.FailureKind, status int) string

	redact    redact.Redactor
	transport *http.Transport

	known   atomic.Pointer[learned] // never nil
	offered atomic.Pointer[offered]

	// mu guards resolved.
	mu       sync.Mutex
	resolved string // the model that calls use; "" until it is known
}

// NewEndpoint returns an Endpoint without asking the server anything. It has no error: options that can't work are
// reported by each call, so a gateway with a mistake in one model still starts with the others.
func NewEndpoint(o Options) *Endpoint {
	o.APIKey = strings.TrimSpace(o.APIKey)
	e := &Endpoint{Options: o, transport: newTransport(o.Dial), resolved: o.Model}
	e.Base, e.Invalid = parseBase(o.BaseURL, o.Settings.URL)
	e.redact = redact.New(append(redact.Address(e.Base), o.APIKey)...)
	e.known.Store(&learned{map[string]bool{}, map[[sha256.Size]byte]Refused{}})
	return e
}

func (m *Endpoint) log() *slog.Logger {
	if m.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return m.Log
}

// Client returns a client that follows no redirects. It has no time limit for a whole request, see transport.go.
func (m *Endpoint) Client() *http.Client {
	return &http.Client{Transport: m.transport, CheckRedirect: stay}
}

// Close closes idle connections. Calls under way continue. It never fails.
func (m *Endpoint) Close() error {
	m.transport.CloseIdleConnections()
	return nil
}

// ErrCut is the error of a stream that ended without the event that completes an answer, whatever closed it. errLeft is
// the cause of the context of a request whose caller wants no more.
var (
	ErrCut  = errors.New("the stream ended before the answer did")
	errLeft = errors.New("the rest of this answer is not needed")
)

// Run returns the chunks of the call req, for an implementation of [llm.Model.Generate]. It calls
// stream with the model's name and with req as the server accepts it. stream returns nil if the answer is complete or
// yield returned false, and may call cancel to end the request early. If the server refuses what requests can do
// without, stream is called again: see [Endpoint.Sends]. All errors are sorted here: the caller's own cancellation is
// passed on as its cause, a provider's content filter is a regular end, and everything else is a [*llm.Failure].
func (m *Endpoint) Run(ctx context.Context, req llm.Request, stream Stream) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) { m.run(ctx, req, yield, stream) }
}

// Stream yields the answer to req; see [Endpoint.Run].
type Stream = func(ctx context.Context, cancel context.CancelCauseFunc, model string, req llm.Request, yield func(llm.Chunk) bool) error

func (m *Endpoint) run(ctx context.Context, req llm.Request, yield func(llm.Chunk, error) bool, stream Stream) {
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(errLeft)
	begun, left := false, false
	name, err := m.Resolve(call)
	tools := req.Tools
	for again := err == nil; again; {
		before := m.known.Load()
		req.Tools = m.offer(tools)
		err = stream(call, cancel, name, req, func(c llm.Chunk) bool {
			begun, left = true, !yield(m.clean(c), nil)
			return !left
		})
		again = err != nil && !begun && call.Err() == nil && m.learns(err, before, req.Tools)
	}
	switch {
	// An iterator must not call yield again after it returned false, so an error after that is dropped.
	case left || err == nil:
	case ctx.Err() != nil:
		yield(llm.Chunk{}, context.Cause(ctx))
	case Filtered(err):
		yield(llm.Chunk{Finish: llm.FinishFilter}, nil)
	default:
		yield(llm.Chunk{}, m.Failure(err))
	}
}

// clean returns c without secrets in the error of a call that the model's own side has made.
func (m *Endpoint) clean(c llm.Chunk) llm.Chunk {
	if c.Remote != nil && c.Remote.Error != "" {
		remote := *c.Remote
		remote.Error = m.redact.Clean(remote.Error)
		c.Remote = &remote
	}
	return c
}

// Once makes one call of ask, which gets the model's name, for calls without a stream. If the server refuses what
// requests can do without, ask is called again: see [Endpoint.Sends]. Its error is a [*llm.Failure], or the cause of ctx
// if that was done.
func Once[T any](ctx context.Context, m *Endpoint, ask func(name string) (T, error)) (T, error) {
	var none T
	name, err := m.Resolve(ctx)
	if err != nil {
		return none, err
	}
	for {
		before := m.known.Load()
		got, err := ask(name)
		switch {
		case err == nil:
			return got, nil
		case ctx.Err() != nil:
			return none, context.Cause(ctx)
		case !m.learns(err, before, nil):
			return none, m.Failure(err)
		}
	}
}

// Limit returns the lower of two limits on tokens, where 0 is none.
func Limit(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// String returns the name of the endpoint in logs. It also marks opaque data of a model
// (llm.Opaque.Owner): another model, or the same name at another server, can't read it.
func (m *Endpoint) String() string { return fmt.Sprintf("%s at %s", m.Model, Place(m.Base)) }
