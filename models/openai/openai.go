// Package openai is a [llm.Model] over every server that speaks OpenAI's chat completions: OpenAI itself, and Ollama,
// LM Studio, vLLM, llama.cpp, OpenRouter and the like under an address of their own. It also hears, paints and embeds, where
// the server does.
package openai

import (
	"cmp"
	"context"
	"iter"
	"net"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley/core/llm"
	"parley/models"
	"parley/models/wire"
)

// OfficialURL is where OpenAI's own models are.
const OfficialURL = "https://api.openai.com/v1"

// What the errors of a check tell to set, where Options don't say.
var settings = wire.Settings{
	Model: "models.large.model (OPENAI_MODEL)",
	Key:   "providers.openai.api_key (OPENAI_API_KEY)",
	URL:   "providers.openai.base_url (OPENAI_BASE_URL)",
}

// Options say which server and which model.
type Options struct {
	BaseURL   string // up to and with /v1; empty for [OfficialURL]
	APIKey    string // empty where the server wants none
	Model     string // empty for the only one that the server has
	MaxTokens int    // of one answer; 0 leaves it to the server
	models.Parameters
	// Settings are what errors tell to set; empty for those of the large model.
	Settings wire.Settings
	// Dial opens connections; nil uses the network, by way of the proxy that the environment names.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Quirks
}

// Quirks are how a server differs from what most others accept.
type Quirks struct {
	KeyHeader           string            // which has the key alone; empty for "Authorization: Bearer"
	Headers             map[string]string // sent with each request
	MaxCompletionTokens bool              // the limit on tokens is max_completion_tokens
	ShortIDs            bool              // ids of calls have nine letters and digits
	Reasoning           string            // the field with reasoning that goes back with the calls of the same turn
	ReasoningRequired   bool              // even if there was none
	Unlisted            bool              // the server does not list the models by the names that are used
}

// Model is a [llm.Model], and whatever else of core's models the server has under its name. It makes one attempt for each call, reads no OPENAI_ variables and is safe for concurrent use.
type Model struct {
	*wire.Endpoint
	options Options
	client  *http.Client // for answers; the rest is the SDK's
	hear    sdk.AudioTranscriptionService
	paint   sdk.ImageService
	embed   sdk.EmbeddingService
}

var (
	_ llm.Model   = (*Model)(nil)
	_ llm.Bounded = (*Model)(nil)
)

// New makes a Model. It asks the server nothing; options that can't work are told by every call.
func New(options Options) *Model {
	options.BaseURL = cmp.Or(options.BaseURL, OfficialURL)
	options.Settings = wire.Settings{
		Model: cmp.Or(options.Settings.Model, settings.Model),
		Key:   cmp.Or(options.Settings.Key, settings.Key),
		URL:   cmp.Or(options.Settings.URL, settings.URL),
	}
	m := &Model{options: options, Endpoint: wire.NewEndpoint(wire.Options{
		BaseURL: options.BaseURL, APIKey: options.APIKey, Model: options.Model, Settings: options.Settings, Dial: options.Dial,
	})}
	// The services are built one by one: only the SDK's whole client reads OPENAI_ variables.
	requests := m.requests()
	m.client = m.Client()
	m.hear = sdk.NewAudioTranscriptionService(requests...)
	m.paint = sdk.NewImageService(requests...)
	m.embed = sdk.NewEmbeddingService(requests...)
	m.List = lister(sdk.NewModelService(requests...))
	return m
}

func (m *Model) requests() []option.RequestOption {
	all := []option.RequestOption{
		option.WithBaseURL(m.Base.String()),
		option.WithMaxRetries(0),
		option.WithHTTPClient(m.Client()),
		option.WithMiddleware(wire.Refuse),
	}
	if header := m.options.KeyHeader; header == "" {
		all = append(all, option.WithAPIKey(m.APIKey))
	} else if m.APIKey != "" {
		all = append(all, option.WithHeader(header, m.APIKey))
	}
	for name, value := range m.options.Headers {
		all = append(all, option.WithHeader(name, value))
	}
	return all
}

func lister(models sdk.ModelService) func(context.Context) ([]string, error) {
	return func(ctx context.Context) (names []string, err error) {
		page, err := models.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, model := range page.Data {
			names = append(names, model.ID)
		}
		return names, nil
	}
}

// Generate implements [llm.Model].
func (m *Model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		tokens := wire.Limit(m.options.MaxTokens, req.MaxTokens)
		m.Run(ctx, yield, func(ctx context.Context, cancel context.CancelCauseFunc, name string, yield func(llm.Chunk) bool) error {
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
}

// MaxTokens implements [llm.Bounded].
func (m *Model) MaxTokens() int { return m.options.MaxTokens }

// Check asks the model something small; see [wire.Endpoint.Check].
func (m *Model) Check(ctx context.Context) (string, error) { return m.Endpoint.Check(ctx, m) }

// CheckListed reports whether the server lists the model, if it lists any by the names that are used.
func (m *Model) CheckListed(ctx context.Context) (string, error) {
	if m.options.Unlisted {
		text, err := m.Reach(ctx)
		return text + "; " + m.options.Model + " will be tested on first use", err
	}
	return m.Endpoint.CheckListed(ctx)
}

// CheckEmbeds embeds one word.
func (m *Model) CheckEmbeds(ctx context.Context) (string, error) {
	return m.Endpoint.CheckEmbeds(ctx, m)
}
