// Package openai implements [llm.Model] for every server that speaks OpenAI's chat completions
// (https://platform.openai.com/docs/api-reference/chat): OpenAI itself, hosted providers such as OpenRouter, Groq and
// Mistral, and local servers such as Ollama, LM Studio, vLLM and llama.cpp. The same type transcribes, generates images
// and embeds, if the server does.
//
// "Compatible" servers differ in many details: the fields that they send, the numbers of calls, the end of a
// stream. The differences that must be known before a request are [Quirks]; the others are handled where they appear,
// for all servers alike.
//
//   - request.go writes requests, and tools.go the tools in them.
//   - stream.go and wire.EventReader read answers; scan.go and json.go decode their events, chunk.go those of unusual form.
//   - stream.go tells parallel calls apart; reasoning.go returns reasoning to servers that want it back.
package openai

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net"
	"net/http"

	"parley/core/llm"
	"parley/models"
	"parley/models/wire"
)

// OfficialURL is the base URL of OpenAI's own API.
const OfficialURL = "https://api.openai.com/v1"

// settings are the names of settings in errors, where [Options] has none.
var settings = wire.Settings{
	Model: "models.large.model (OPENAI_MODEL)",
	Key:   "providers.openai.api_key (OPENAI_API_KEY)",
	URL:   "providers.openai.base_url (OPENAI_BASE_URL)",
}

// Options identify a server and a model.
type Options struct {
	BaseURL   string // up to and including /v1; empty for [OfficialURL]
	APIKey    string // empty if the server needs none
	Model     string // empty: the only one that the server has
	MaxTokens int    // of one answer; 0 leaves it to the server
	models.Parameters
	// Settings are the names of settings in errors; empty for those of the large model.
	Settings wire.Settings
	// Dial opens connections; nil uses the network, through the proxy that the environment names.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger // nil discards it

	Quirks
}

// Quirks are the differences of a server to most others. The zero value is right for most.
type Quirks struct {
	KeyHeader           string            // the header with the key alone; empty for "Authorization: Bearer"
	Headers             map[string]string // sent with each request
	MaxCompletionTokens bool              // the limit of an answer is called max_completion_tokens
	ShortIDs            bool              // ids of calls must have nine letters and digits
	Reasoning           string            // the field with reasoning that the server wants back with the calls of the same turn
	ReasoningRequired   bool              // the field must be there even if there was no reasoning
	Unlisted            bool              // the list of models doesn't have the names that are used
}

// own returns the parameters that requests have of themselves. Servers that don't know one refuse the whole request.
func defaults() []wire.DefaultParameter {
	return []wire.DefaultParameter{
		{Name: "stream_options", Words: []string{"stream_options", "include_usage"}},
		{Name: "strict"},
		{Name: "max_tokens", Needed: true},
		{Name: "max_completion_tokens", Needed: true},
		{Name: ReasoningContent, Needed: true},
		{Name: ReasoningDetails, Needed: true},
		{Name: "extra_content", Words: []string{"extra_content", "provider_specific_fields"}, Needed: true},
		{Name: "response_format"}, {Name: "encoding_format"}, {Name: "n"},
	}
}

// Model implements [llm.Model], [llm.Transcriber], [llm.ImageGenerator], [llm.Speaker] and [llm.Embedder] with one model of a server.
// It makes one attempt for each call, and is safe for concurrent use.
type Model struct {
	*wire.Endpoint
	options Options
	tools   tools
}

var (
	_ llm.Model   = (*Model)(nil)
	_ llm.Bounded = (*Model)(nil)
)

// New returns a Model. It asks the server nothing; options that can't work are reported by every call.
func New(options Options) *Model {
	options.BaseURL = cmp.Or(options.BaseURL, OfficialURL)
	options.Settings = wire.Settings{
		Model: cmp.Or(options.Settings.Model, settings.Model),
		Key:   cmp.Or(options.Settings.Key, settings.Key),
		URL:   cmp.Or(options.Settings.URL, settings.URL),
	}
	m := &Model{options: options, Endpoint: wire.NewEndpoint(wire.Options{
		BaseURL: options.BaseURL, APIKey: options.APIKey, Model: options.Model, Settings: options.Settings, Dial: options.Dial,
		Log: options.Log, Defaults: defaults(),
	})}
	m.Header = m.headers()
	m.List = m.IDs
	return m
}

// headers returns the headers of each request.
func (m *Model) headers() http.Header {
	h := http.Header{}
	switch header := m.options.KeyHeader; {
	case m.APIKey == "":
	case header == "":
		h.Set("Authorization", "Bearer "+m.APIKey)
	default:
		h.Set(header, m.APIKey)
	}
	for name, value := range m.options.Headers {
		h.Set(name, value)
	}
	return h
}

// Generate implements [llm.Model].
func (m *Model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	tokens := wire.Limit(m.options.MaxTokens, req.MaxTokens)
	return m.Run(ctx, req, func(ctx context.Context, cancel context.CancelCauseFunc, name string, req llm.Request, yield func(llm.Chunk) bool) error {
		names := wire.NamesOf(req)
		res, err := m.post(ctx, name, tokens, req, names)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		s := stream{names: names, release: cancel, thought: reasoning{field: m.options.Reasoning}, owner: m.String()}
		return s.read(res.Body, yield)
	})
}

// MaxTokens implements [llm.Bounded].
func (m *Model) MaxTokens() int { return m.options.MaxTokens }

// Check makes the smallest request, and fails like [wire.Endpoint.Check].
func (m *Model) Check(ctx context.Context, uses wire.Uses) (string, error) {
	return m.Endpoint.Check(ctx, m, uses)
}

// CheckListed fails if the server does not list the model, unless it lists models by other names. The text is for the
// owner.
func (m *Model) CheckListed(ctx context.Context) (string, error) {
	if m.options.Unlisted {
		text, err := m.Reach(ctx)
		return text + "; " + m.options.Model + " will be tested on first use", err
	}
	return m.Endpoint.CheckListed(ctx)
}

// CheckEmbeds embeds one word, and fails like [wire.Endpoint.CheckEmbeds].
func (m *Model) CheckEmbeds(ctx context.Context) (string, error) {
	return m.Endpoint.CheckEmbeds(ctx, m)
}
