// Package wire is what the models have in common that speak HTTP with a provider: connections, the reading of refusals,
// errors without secrets, the names of tools, and checks that say what to do.
package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"parley/core/llm"
)

// Options say which server, and which model of it.
type Options struct {
	BaseURL string
	APIKey  string // empty where the server wants none
	Model   string // empty for the only one that the server has
	// Settings are what errors tell to set.
	Settings Settings
	// Dial opens connections; nil uses the network, by way of the proxy that the environment names.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Settings names what the owner can set, such as "models.large.model (OPENAI_MODEL)".
type Settings struct{ Model, Key, URL string }

// Endpoint is one model at one server. It is safe for concurrent use.
type Endpoint struct {
	Options
	Base    *url.URL
	Invalid error // why the options can't work: what every call answers
	// List returns the names of the server's models. It is set before the first call.
	List func(ctx context.Context) ([]string, error)
	// Advice, if any, says what to do about a failure of a check, with the status of HTTP or 0. "" leaves it to the Endpoint.
	Advice func(kind llm.FailureKind, status int) string

	redact    redactor
	transport *http.Transport

	mu       sync.Mutex
	resolved string
}

// NewEndpoint makes an Endpoint without asking the server anything.
func NewEndpoint(o Options) *Endpoint {
	o.APIKey = strings.TrimSpace(o.APIKey)
	e := &Endpoint{Options: o, transport: newTransport(o.Dial), resolved: o.Model}
	e.Base, e.Invalid = parseBase(o.BaseURL, o.Settings.URL)
	e.redact = newRedactor(secretsOf(o.APIKey, e.Base)...)
	return e
}

// Client returns a client that follows no redirect.
func (m *Endpoint) Client() *http.Client {
	return &http.Client{Transport: m.transport, CheckRedirect: stay}
}

// RefusingClient returns a [Endpoint.Client] for SDKs without middleware: see [Refuse]. Its bodies end without an error.
func (m *Endpoint) RefusingClient() *http.Client {
	return &http.Client{Transport: refusing{m.transport}, CheckRedirect: stay}
}

type refusing struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := Refuse(req, r.inner.RoundTrip)
	if err == nil {
		res.Body = quiet{res.Body}
	}
	return res, err
}

// quiet ends where the connection breaks: some SDKs print the error, and an answer's end is known otherwise.
type quiet struct{ io.ReadCloser }

// Read implements io.Reader.
func (q quiet) Read(p []byte) (int, error) {
	n, err := q.ReadCloser.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// Close closes idle connections. Calls under way go on.
func (m *Endpoint) Close() error {
	m.transport.CloseIdleConnections()
	return nil
}

// Errors that streams have in common.
var (
	ErrCut  = errors.New("the stream ended before the answer did")
	errLeft = errors.New("the rest of this answer is not needed")
)

// Run makes one call, and passes on what stream yields. Stream gets the model's name, and returns nil if the answer is
// complete or yield wants no more. Cancel ends the request.
func (m *Endpoint) Run(ctx context.Context, yield func(llm.Chunk, error) bool,
	stream func(ctx context.Context, cancel context.CancelCauseFunc, model string, yield func(llm.Chunk) bool) error) {
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(errLeft)
	left := false
	name, err := m.Resolve(call)
	if err == nil {
		err = stream(call, cancel, name, func(c llm.Chunk) bool {
			left = !yield(c, nil)
			return !left
		})
	}
	switch {
	case left || err == nil:
	case ctx.Err() != nil:
		yield(llm.Chunk{}, context.Cause(ctx))
	case Filtered(err):
		yield(llm.Chunk{Finish: llm.FinishFilter}, nil)
	default:
		yield(llm.Chunk{}, m.Failure(err))
	}
}

// Once makes one attempt at what ask does with the model's name. Its error is a [*llm.Failure] unless ctx was done.
func Once[T any](ctx context.Context, m *Endpoint, ask func(name string) (T, error)) (T, error) {
	var none T
	name, err := m.Resolve(ctx)
	if err != nil {
		return none, err
	}
	got, err := ask(name)
	switch {
	case err == nil:
		return got, nil
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	}
	return none, m.Failure(err)
}

// Limit returns the lower of two limits on tokens, of which 0 is none.
func Limit(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// String returns what the endpoint answers as, for logs.
func (m *Endpoint) String() string { return fmt.Sprintf("%s at %s", m.Model, Place(m.Base)) }
