// Package openai is a [llm.Model] over every server that speaks OpenAI's chat completions: OpenAI itself, and Ollama,
// LM Studio, vLLM, llama.cpp, OpenRouter and the like under an address of their own. It also hears, paints and embeds, where
// the server does.
package openai

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley/core/llm"
)

// OfficialURL is where OpenAI's own models are.
const OfficialURL = "https://api.openai.com/v1"

// Options say which server and which model.
type Options struct {
	BaseURL     string   // up to and with /v1; empty for [OfficialURL]
	APIKey      string   // empty where the server wants none
	Model       string   // empty for the only one that the server has
	MaxTokens   int      // of one answer; 0 leaves it to the server
	Temperature *float64 // nil leaves it to the server
	// Setting is what errors tell to set where the model's name is wrong; empty for that of the large model.
	Setting string
	// Dial opens connections; nil uses the network, by way of the proxy that the environment names.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Model is a [llm.Model], and whatever else of core's models the server has under its name. It makes one attempt for each call, reads no OPENAI_ variables and is safe for concurrent use.
type Model struct {
	options   Options
	base      *url.URL
	invalid   error // why the options can't work: what every call answers
	redact    redactor
	transport *http.Transport
	chat      sdk.ChatCompletionService
	list      sdk.ModelService
	hear      sdk.AudioTranscriptionService
	paint     sdk.ImageService
	embed     sdk.EmbeddingService

	mu       sync.Mutex
	resolved string
}

var (
	_ llm.Model   = (*Model)(nil)
	_ llm.Bounded = (*Model)(nil)
)

// New makes a Model. It asks the server nothing; options that can't work are told by every call.
func New(options Options) *Model {
	options.APIKey = strings.TrimSpace(options.APIKey)
	if options.BaseURL == "" {
		options.BaseURL = OfficialURL
	}
	if options.Setting == "" {
		options.Setting = settingModel
	}
	m := &Model{options: options, transport: newTransport(options.Dial), resolved: options.Model}
	m.base, m.invalid = parseBase(options.BaseURL)
	m.redact = newRedactor(secretsOf(options.APIKey, m.base)...)
	// The services are built one by one: only the SDK's whole client reads OPENAI_ variables.
	requests := []option.RequestOption{
		option.WithBaseURL(m.base.String()),
		option.WithAPIKey(options.APIKey),
		option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: m.transport, CheckRedirect: stay}),
		option.WithMiddleware(refuse),
	}
	m.chat = sdk.NewChatCompletionService(requests...)
	m.list = sdk.NewModelService(requests...)
	m.hear = sdk.NewAudioTranscriptionService(requests...)
	m.paint = sdk.NewImageService(requests...)
	m.embed = sdk.NewEmbeddingService(requests...)
	return m
}

// Close lets go of idle connections. Calls under way go on.
func (m *Model) Close() error {
	m.transport.CloseIdleConnections()
	return nil
}

// errLeft cancels a request whose remaining response is not needed.
var errLeft = errors.New("the rest of this answer is not needed")

// Generate implements [llm.Model].
func (m *Model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		tokens := m.options.MaxTokens
		if req.MaxTokens > 0 && (tokens <= 0 || req.MaxTokens < tokens) {
			tokens = req.MaxTokens
		}
		m.run(ctx, req, tokens, yield)
	}
}

// MaxTokens implements [llm.Bounded].
func (m *Model) MaxTokens() int { return m.options.MaxTokens }

// run makes one call of at most so many tokens.
func (m *Model) run(ctx context.Context, req llm.Request, tokens int, yield func(llm.Chunk, error) bool) {
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(errLeft)
	left := false
	err := m.stream(call, cancel, req, tokens, func(c llm.Chunk) bool {
		left = !yield(c, nil)
		return !left
	})
	switch {
	case left || err == nil:
	case ctx.Err() != nil:
		yield(llm.Chunk{}, context.Cause(ctx))
	case filtered(err):
		yield(llm.Chunk{Finish: llm.FinishFilter}, nil)
	default:
		yield(llm.Chunk{}, m.failure(err))
	}
}

// stream sends the request and reads what comes. It returns nil when the answer is complete or yield wants no more.
func (m *Model) stream(ctx context.Context, cancel context.CancelCauseFunc, req llm.Request, tokens int, yield func(llm.Chunk) bool) error {
	name, err := m.Resolve(ctx)
	if err != nil {
		return err
	}
	names := namesOf(req)
	body, err := m.open(ctx, name, tokens, req, names)
	if err != nil {
		return err
	}
	defer body.Close()
	s := stream{names: names, release: cancel}
	return s.read(body, yield)
}

// open sends the request and returns the body of the response, a stream of events. The request is not needed while that
// is read: nothing of it is kept.
func (m *Model) open(ctx context.Context, name string, tokens int, req llm.Request, n names) (io.ReadCloser, error) {
	var res *http.Response
	// The SDK's own stream takes [DONE] and a cut line for the same end, and "error": null for an error: only its
	// request is used.
	opened := m.chat.NewStreaming(ctx, m.params(name, tokens, req, n), option.WithResponseInto(&res))
	if err := opened.Err(); err != nil {
		return nil, err
	}
	if err := wantEvents(res); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return res.Body, nil
}
