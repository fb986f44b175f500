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

// models are the configured models by what they do.
type models struct {
	llm.Models
	name    string // how the log calls the one that answers
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

// newModels builds every model that is configured, unless the program brings one. It talks to none.
func newModels(cfg config.Config, env Env) *models {
	m := &models{Models: env.Models}
	m.Large, m.LargeVision = m.large(cfg, env), cfg.Models.Large.Vision
	if s := m.slot(cfg, env, "small", cfg.Models.Small); s != nil {
		m.Small = s
		m.try("small", s.Check)
	}
	if s := m.slot(cfg, env, "vision", cfg.Models.Vision); s != nil {
		m.Vision = s
		m.try("vision", s.Check)
	}
	if s := m.slot(cfg, env, "transcription", cfg.Models.Transcription); s != nil {
		m.Transcriber = s
		m.try("transcription", s.CheckListed)
	}
	if s := m.slot(cfg, env, "image", cfg.Models.Image); s != nil {
		m.Painter = s
		m.try("image", s.CheckListed)
	}
	if s := m.slot(cfg, env, "embedding", cfg.Models.Embedding); s != nil {
		m.Embedder = s
		m.try("embedding", s.CheckEmbeds)
	}
	return m
}

func (m *models) try(slot string, check func(context.Context) (string, error)) {
	m.checks = append(m.checks, part{"models." + slot, check})
}

// large is the model that answers. There is always one.
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

// slot is a model for one kind of work, or nil if none is set.
func (m *models) slot(cfg config.Config, env Env, name string, s config.Slot) *openai.Model {
	if s.Model == "" {
		return nil
	}
	o := openAI(cfg, env)
	o.Model, o.Setting = s.Model, "models."+name+".model"
	model := openai.New(o)
	m.closers = append(m.closers, model.Close)
	return model
}

// openAI says where models of the provider are reached.
func openAI(cfg config.Config, env Env) openai.Options {
	p := cfg.Providers.OpenAI
	return openai.Options{BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), Dial: env.Dial}
}

// reader reads what is attached to messages, with the models that there are.
func (g *Gateway) reader() *media.Reader {
	m := g.models.Models
	if m.Vision == nil && m.LargeVision {
		m.Vision = m.Large // for questions after the one with which it was shown the picture
	}
	return media.New(media.Options{Fetch: g.fetch, Vision: m.Vision, Transcriber: m.Transcriber, Sees: m.LargeVision, PDF: g.env.PDF, Log: g.env.Log})
}

// fetch gets a file from the connector that it came by. Connectors are asked when it is needed: some are made later.
func (g *Gateway) fetch(ctx context.Context, connector string, f chat.Attachment, limit int64) (llm.File, error) {
	for _, c := range g.connectors {
		if from, ok := c.(connectors.Fetcher); ok && c.Name() == connector {
			return from.Fetch(ctx, f, limit)
		}
	}
	return llm.File{}, fmt.Errorf("%w: the connector %s does not provide files", chat.ErrNotFound, connector)
}
