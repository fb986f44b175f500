package parley

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"parley/config"
	"parley/connectors"
	"parley/core/chat"
	"parley/core/llm"
	"parley/media"
	"parley/models/demo"
	"parley/models/openai"
)

// models holds the configured models by task.
type models struct {
	llm.Models
	name    string // the answering model's name in logs
	checks  []part
	closers []func() error
}

func (m *models) close() error {
	var all error
	for _, c := range m.closers {
		all = errors.Join(all, c())
	}
	return all
}

// slot is a model for one task besides answering.
type slot struct {
	key, task string // the key below models, and what /model calls the task
	config    *config.Slot
	replaced  bool // by the embedding program
	set       func(*openai.Model)
	check     func(*openai.Model, context.Context) (string, error)
}

// slotsOf returns the slots of c, which set the models of m.
func slotsOf(c *config.Models, m *llm.Models) []slot {
	return []slot{
		{"small", "short questions", &c.Small, m.Small != nil, func(s *openai.Model) { m.Small = s }, (*openai.Model).Check},
		{"vision", "pictures", &c.Vision, m.Vision != nil, func(s *openai.Model) { m.Vision = s }, (*openai.Model).Check},
		{"transcription", "voices", &c.Transcription, m.Transcriber != nil, func(s *openai.Model) { m.Transcriber = s }, (*openai.Model).CheckListed},
		{"image", "drawing", &c.Image, m.Painter != nil, func(s *openai.Model) { m.Painter = s }, (*openai.Model).CheckListed},
		{"embedding", "memory", &c.Embedding, m.Embedder != nil, func(s *openai.Model) { m.Embedder = s }, (*openai.Model).CheckEmbeds},
	}
}

// newModels creates every configured model, except those that env replaces, without making a request.
func newModels(cfg config.Config, env Env) *models {
	m := &models{Models: env.Models}
	m.Large, m.LargeVision = m.large(cfg, env), cfg.Models.Large.Vision
	for _, s := range slotsOf(&cfg.Models, &m.Models) {
		if s.config.Model == "" {
			continue
		}
		o := openAI(cfg, env)
		o.Model, o.Setting = s.config.Model, "models."+s.key+".model"
		model := openai.New(o)
		m.closers = append(m.closers, model.Close)
		s.set(model)
		m.try(s.key, func(ctx context.Context) (string, error) { return s.check(model, ctx) })
	}
	return m
}

func (m *models) try(slot string, check func(context.Context) (string, error)) {
	m.checks = append(m.checks, part{"models." + slot, check})
}

// large returns the model that answers. There is always one.
func (m *models) large(cfg config.Config, env Env) llm.Model {
	if env.Models.Large != nil {
		m.name = cmp.Or(env.ModelName, "the program's own")
		m.try("large", func(context.Context) (string, error) { return m.name + " is not tried", nil })
		return env.Models.Large
	}
	large := cfg.Models.Large
	if cfg.LargeProvider() == config.ProviderDemo {
		m.name = "demo"
		m.try("large", func(context.Context) (string, error) {
			return "using the demo model; set OPENAI_API_KEY or OPENAI_BASE_URL for a real one", nil
		})
		return demo.New()
	}
	o := openAI(cfg, env)
	o.Model, o.MaxTokens, o.Temperature = large.Model, large.MaxTokens, large.Temperature
	model := openai.New(o)
	m.closers = append(m.closers, model.Close)
	m.try("large", model.Check)
	m.name = large.Model
	if m.name == "" {
		m.name = "the only model of " + cfg.Providers.OpenAI.BaseURL
	}
	return model
}

// openAI returns the options of the provider's models.
func openAI(cfg config.Config, env Env) openai.Options {
	p := cfg.Providers.OpenAI
	return openai.Options{BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), Dial: env.Dial}
}

// reader returns a reader of attachments that uses the configured models.
func (g *Gateway) reader() *media.Reader {
	m := g.models.Models
	if m.Vision == nil && m.LargeVision {
		m.Vision = m.Large // for later questions about an image
	}
	return media.New(media.Options{Fetch: g.fetch, Vision: m.Vision, Transcriber: m.Transcriber, Sees: m.LargeVision, PDF: g.env.PDF, Log: g.env.Log})
}

// fetch downloads a file from the connector that it came from. Connectors are looked up on use, because some are
// created later.
func (g *Gateway) fetch(ctx context.Context, connector string, f chat.Attachment, limit int64) (llm.File, error) {
	for _, c := range g.connectors {
		if from, ok := c.(connectors.Fetcher); ok && c.Name() == connector {
			return from.Fetch(ctx, f, limit)
		}
	}
	return llm.File{}, fmt.Errorf("%w: the connector %s does not provide files", chat.ErrNotFound, connector)
}
