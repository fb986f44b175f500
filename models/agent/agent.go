// Package agent implements [llm.Model] for an agent of the owner's own behind an HTTP address. The request is an AG-UI
// run, or that of a route of the AI SDK (request.go); the answer is a stream of AG-UI events (agui.go), of the chunks of the
// AI SDK (uiparts.go), or of lines of JSON in a smaller protocol (lines.go), which the headers of the response tell apart.
// All are translated to the same stream (stream.go). A run that asks its user is continued by a later request (ask.go).
//
// Such an agent calls its own tools. The gateway shows these calls but does not make them, so it offers the agent no
// tools of its own; see docs/your-agent.md and docs/engineering/adr/0016-calls-of-an-agent-are-shown-not-made.md.
package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"parley/core/llm"
	"parley/internal/rest"
	"parley/internal/sections"
	"parley/internal/signature"
	"parley/internal/trace"
	"parley/internal/uistream"
	"parley/models"
	"parley/models/wire"
)

// Config is the section providers.http.
type Config struct {
	// The address of an agent of your own, such as http://127.0.0.1:9000/agent. Empty = off. A model in models.chat can have a url
	// of its own instead.
	BaseURL string `yaml:"base_url" default:"${env:AGENT_URL:-}"`
	// The key that this agent wants, if any. It is sent as "Authorization: Bearer".
	APIKey sections.Secret `yaml:"api_key" default:"${env:AGENT_API_KEY:-}"`
}

// Section describes providers.http.
func Section() sections.Section {
	return sections.Section{
		Name: "http", Title: "your own agent", About: "An agent of your own, over AG-UI or lines of JSON: see docs/your-agent.md.",
		Secret: "base_url", Values: &Config{}, Can: []sections.Ability{sections.Answers}, Agents: true, Without: []string{"top_p", "stop", "seed", "reasoning_effort", "extra_body"},
	}
}

// Open implements [models.Settings].
func (c *Config) Open(o models.Options) models.Model { return open(c, o) }

// Model implements [llm.Model]. It makes one attempt for each call and is safe for concurrent use.
type Model struct {
	*wire.Endpoint
	options models.Options
	client  *http.Client
	old     atomic.Bool // the agent refuses the field with the version of the protocol
}

var (
	_ llm.Model   = (*Model)(nil)
	_ llm.Bounded = (*Model)(nil)
)

const (
	maxEvent     = 12 << 20 // bytes of one event, or one line: of a file in base64
	maxRedirects = 3
	maxWait      = 20 * time.Second // between two attempts to continue a run, for an agent that restarts
	name         = "the agent"      // the name in checks and logs
)

var errUnlisted = errors.New("an agent lists no models")

// open returns a model without asking the agent anything.
func open(c *Config, o models.Options) *Model {
	settings := o.Settings("AGENT_API_KEY", "AGENT_URL")
	url, key := c.BaseURL, c.APIKey.Reveal()
	if o.URL != "" { // with a key of its own: the other one is meant for another server
		url, key = o.URL, o.APIKey
		at := strings.TrimSuffix(o.Setting, ".model")
		settings.URL, settings.Key = at+".url", at+".api_key"
	}
	m := &Model{options: o, Endpoint: wire.NewEndpoint(wire.Options{BaseURL: url, APIKey: key, Model: name, Settings: settings, Dial: o.Dial, Log: o.Log})}
	m.List = func(context.Context) ([]string, error) { return nil, errUnlisted }
	m.Advice = m.advice
	m.client = m.Client()
	m.client.CheckRedirect = sameOrigin
	return m
}

// sameOrigin follows redirects that keep the method and the origin. It follows no others, which would send the key and
// the conversation to another server.
func sameOrigin(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// MaxTokens implements [llm.Bounded].
func (m *Model) MaxTokens() int { return m.options.MaxTokens }

// Check makes the smallest request, and fails like [wire.Endpoint.Check]. It runs the agent.
func (m *Model) Check(ctx context.Context, uses wire.Uses) (string, error) {
	return m.Endpoint.Check(ctx, m, uses)
}

// CheckListed is Check, and fails like it, because agents don't list models.
func (m *Model) CheckListed(ctx context.Context) (string, error) { return m.Check(ctx, wire.Uses{}) }

// Reach sends a request that runs nothing. Any response will do, also an error: the server is there.
func (m *Model) Reach(ctx context.Context) (string, error) {
	if m.Invalid != nil {
		return "", m.Failure(m.Invalid)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, m.Base.String(), nil)
	if err != nil {
		return "", m.Failure(err)
	}
	res, err := m.client.Do(req)
	if err != nil {
		f := m.Failure(err)
		return "", fmt.Errorf("%s: %w", m.advice(f.Kind, 0), f)
	}
	return wire.Place(m.Base) + " can be reached", res.Body.Close()
}

// advice returns the remedy for a failure of a check; "" leaves it to [wire.Endpoint].
func (m *Model) advice(kind llm.FailureKind, status int) string {
	at := wire.Place(m.Base)
	switch {
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return "no agent is found at " + at + ": correct " + m.Settings.URL
	case status >= 300 && status < 400:
		return at + " redirects to another address, which is not followed: set " + m.Settings.URL + " to that one"
	case kind == llm.NoProvider, kind == llm.RateLimited, kind == llm.InsufficientCredits:
		return ""
	case status != 0:
		return "the agent at " + at + " failed: look at its log"
	}
	return "no agent answers at " + at + ": start it or correct " + m.Settings.URL
}

// Generate implements [llm.Model]. An agent acts by itself, so it is asked again only if it can't have begun: it could not be
// reached, or was busy. A request that continues a run is announced before it is sent, and repeated only here, for half a minute.
func (m *Model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return m.Run(ctx, req, func(ctx context.Context, _ context.CancelCauseFunc, _ string, req llm.Request, yield func(llm.Chunk) bool) error {
		j := m.job(req)
		if j.paused != nil && cmp.Or(j.paused.Agent, m.options.Name) != m.options.Name {
			return &llm.Failure{Kind: llm.UnknownQuestion, Err: errors.New("another agent has asked this question")}
		}
		if j.paused != nil && !yield(llm.Chunk{Acts: true, State: raw(j.kept)}) {
			return nil
		}
		began, err := m.run(ctx, j, yield)
		for wait := time.Second; j.paused != nil && !began && wire.Unprocessed(err) && wait < maxWait && rest.For(ctx, wait) == nil; wait *= 2 {
			began, err = m.run(ctx, j, yield)
		}
		if r, ok := errors.AsType[*wire.Refusal](err); ok && j.paused != nil && r.Gone() {
			return &llm.Failure{Kind: llm.UnknownQuestion, Err: m.Failure(err).Err}
		}
		if err != nil && ctx.Err() == nil && !wire.Filtered(err) && (began || !wire.Unprocessed(err)) {
			f := m.Failure(err)
			f.Retry = false
			return f
		}
		return err
	})
}

// run makes the request j and yields its answer. began reports whether the agent has accepted the request. An agent of a version
// that refuses the version of the protocol is asked again without it: it has not begun a run.
func (m *Model) run(ctx context.Context, j job, yield func(llm.Chunk) bool) (began bool, err error) {
	res, err := m.post(ctx, j)
	if r, ok := errors.AsType[*wire.Refusal](err); ok && !j.old && r.Mentions("protocolversion") {
		m.old.Store(true)
		j.old = true
		res, err = m.post(ctx, j)
	}
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	s := &stream{yield: yield, agent: m.options.Name, runID: j.runID, calls: map[string]*call{}, foreign: map[string]bool{}, board: board{}, kept: j.kept}
	s.kept.Seen = j.seen()
	if j.paused != nil && !j.typed { // the message that asked continues
		m := j.paused.decided(j.decisions)
		s.reply = reply{id: m.ID, parts: m.Parts}
	}
	return true, s.response(res)
}

// post starts a run and returns its response, whose body the caller closes.
func (m *Model) post(ctx context.Context, j job) (*http.Response, error) {
	var content any
	if m.options.Agent.Protocol == models.ProtocolAISDK {
		content = m.chat(j)
	} else {
		content = m.input(j)
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.Base.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/x-ndjson")
	if m.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+m.APIKey)
	}
	trace.Tell(ctx, req.Header.Set)
	signature.Add(req.Header, m.options.Agent.SigningKey, body)
	return wire.Refuse(req, m.client.Do)
}

// response yields the answer in res until it is complete or yield wants no more, and then returns nil.
func (s *stream) response(res *http.Response) error {
	given := res.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(given)
	take := s.event
	if res.Header.Get(uistream.Header) != "" {
		take = s.uiChunk
	}
	switch media {
	case "text/event-stream":
		return s.read(res.Body, false, take)
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines":
		return s.read(res.Body, true, s.line)
	}
	// The response is none of these. If it is a report of an error, that says more than its media type, and some servers
	// label events as JSON. Otherwise the body is read, within limits, so that the connection can be used again.
	if err := wire.WantEvents(res, func([]byte) []any { return nil }); err != nil {
		return err
	}
	if media == "application/json" {
		return s.read(res.Body, false, take)
	}
	_, err := io.Copy(io.Discard, io.LimitReader(res.Body, wire.MaxRefusal))
	return errors.Join(fmt.Errorf("the agent answered with %q instead of text/event-stream or application/x-ndjson", cmp.Or(media, given)), err)
}
