package parley

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/config"
	"parley/connectors"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/signature"
	"parley/media"
	providers "parley/models"
	"parley/models/demo"
	"parley/models/openai"
	"parley/models/prices"
	"parley/models/wire"
)

// models holds the configured models, by task.
type models struct {
	llm.Models
	name    string // the answering model's name in logs
	checks  []part // how Check tries them
	takers  []taker
	closers []func() error
}

// taker is a model that answers and is offered tools.
type taker struct {
	key   string // its key in the configuration
	model toolChecker
}

type toolChecker interface {
	llm.Model
	CheckTools(ctx context.Context, with llm.Model, tools []llm.Tool) ([]wire.Refused, error)
}

// checkTools offers tools to the models that answer. A tool that one refuses is a warning: it answers without.
func (m *models) checkTools(ctx context.Context, tools []llm.Tool) (string, error) {
	var refused []string
	for _, t := range m.takers {
		if len(tools) == 0 {
			break
		}
		all, err := t.model.CheckTools(ctx, t.model, tools)
		if err != nil {
			return "", fmt.Errorf("%s: %w", t.key, err)
		}
		for _, r := range all {
			refused = append(refused, fmt.Sprintf("%s refuses the tool %s, so it is not offered it: %s", t.key, r.Tool, r.Why))
		}
	}
	if len(refused) > 0 {
		return "", warning(strings.Join(refused, "; "))
	}
	return fmt.Sprintf("%d tools of MCP servers and endpoints are accepted", len(tools)), nil
}

func (m *models) close() error {
	var all error
	for _, c := range m.closers {
		all = errors.Join(all, c())
	}
	return all
}

// slot is a model for one task other than answering.
type slot struct {
	key, task string // the key below models, and what /model calls the task
	config    *config.Slot
	replaced  bool                  // by a model of the embedding program
	set       func(providers.Model) // sets the field of llm.Models for the task
	check     func(providers.Model, context.Context) (string, error)
}

// slotsOf returns the slots of c, which set the models of m. Images and transcriptions are only looked up in the
// provider's list, because trying them costs too much.
func slotsOf(c *config.Models, m *llm.Models) []slot {
	asks := func(s providers.Model, ctx context.Context) (string, error) { return s.Check(ctx, wire.Uses{}) }
	sees := func(s providers.Model, ctx context.Context) (string, error) {
		return s.Check(ctx, wire.Uses{Images: "set models.vision.model to one that does"})
	}
	listed := providers.Model.CheckListed
	embeds := func(s providers.Model, ctx context.Context) (string, error) {
		return s.(interface {
			CheckEmbeds(context.Context) (string, error)
		}).CheckEmbeds(ctx)
	}
	return []slot{
		{"small", "short questions", &c.Small, m.Small != nil, func(s providers.Model) { m.Small = s.(llm.Model) }, asks},
		{"vision", "pictures", &c.Vision, m.Vision != nil, func(s providers.Model) { m.Vision = s.(llm.Model) }, sees},
		{"transcription", "voices", &c.Transcription, m.Transcriber != nil, func(s providers.Model) { m.Transcriber = s.(llm.Transcriber) }, listed},
		{"image", "drawing", &c.Image, m.ImageGenerator != nil, func(s providers.Model) { m.ImageGenerator = s.(llm.ImageGenerator) }, listed},
		{"speech", "speaking", &c.Speech.Slot, m.Speaker != nil, func(s providers.Model) { m.Speaker = voiced{s.(llm.Speaker), c.Speech.Voice} }, listed},
		{"embedding", "memory", &c.Embedding, m.Embedder != nil, func(s providers.Model) { m.Embedder = s.(llm.Embedder) }, embeds},
	}
}

// voiced speaks with the configured voice.
type voiced struct {
	llm.Speaker
	voice string
}

// Speak implements [llm.Speaker].
func (v voiced) Speak(ctx context.Context, text, voice string) (llm.File, error) {
	return v.Speaker.Speak(ctx, text, cmp.Or(voice, v.voice))
}

// thinking returns the display of reasoning. Public means full: [config.Parse] has compared it with web.public.
func thinking(t config.Thinking) llm.Thinking {
	return map[bool]llm.Thinking{true: llm.ThinkingFull, false: llm.Thinking(t)}[t == config.ThinkingPublic]
}

// newModels creates every configured model, except those that env replaces, without a request.
func newModels(cfg config.Config, env Env) *models {
	m := &models{Models: env.Models}
	m.LargeThinking = thinking(cfg.Models.Large.Thinking)
	m.LargeVision, m.LargeAgent = cfg.Models.Large.Sees(), m.LargeAgent || cfg.LargeAgent()
	m.chat(cfg, env)
	used := map[config.Provider]bool{cfg.LargeProvider(): true}
	for _, c := range cfg.Models.Chat {
		used[c.Provider] = true
	}
	for _, s := range slotsOf(&cfg.Models, &m.Models) {
		if s.config.Model == "" {
			continue
		}
		provider := cfg.SlotProvider(*s.config)
		used[provider] = true
		model := m.open(cfg, env, provider, providers.Options{Model: s.config.Model, Setting: "models." + s.key + ".model"})
		s.set(model)
		m.try("models."+s.key, func(ctx context.Context) (string, error) { return s.check(model, ctx) })
	}
	for _, s := range cfg.ProvidersOn() {
		if !used[config.Provider(s.Name)] && !s.Named {
			m.tryUnused(cfg, env, s.Name)
		}
	}
	return m
}

// open creates a model of a provider, and has it closed with the others.
func (m *models) open(cfg config.Config, env Env, provider config.Provider, o providers.Options) providers.Model {
	o.Provider, o.Dial, o.Log = string(provider), env.Dial, env.Log
	var model providers.Model
	if s, ok := cfg.Provider(provider); ok {
		model = s.Values.(providers.Settings).Open(o)
	} else {
		p := cfg.Providers.OpenAI
		model = openai.New(openai.Options{
			BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), Dial: env.Dial, Model: o.Model, MaxTokens: o.MaxTokens, Parameters: o.Parameters, Log: o.Log,
			Settings: wire.Settings{Model: o.Setting},
		})
	}
	m.closers = append(m.closers, model.Close)
	return model
}

// try adds a check.
func (m *models) try(name string, check func(context.Context) (string, error)) {
	m.checks = append(m.checks, part{name, check})
}

// tryUnused adds a check of a provider that no model uses. A failure is only a warning: its key can be in the
// environment for another program.
func (m *models) tryUnused(cfg config.Config, env Env, provider string) {
	model := m.open(cfg, env, config.Provider(provider), providers.Options{})
	m.try("providers."+provider, func(ctx context.Context) (string, error) {
		text, err := model.Reach(ctx)
		if err != nil {
			return "", warning("no model uses it, and " + err.Error())
		}
		return text + "; no model uses it", nil
	})
}

// chat creates the models that can answer: one of the embedding program, those of models.chat, or models.large. The
// first one is the default.
func (m *models) chat(cfg config.Config, env Env) {
	if env.Models.Large != nil {
		m.name = cmp.Or(env.ModelName, "the program's own")
		m.try("models.large", func(context.Context) (string, error) { return m.name + " is not tried", nil })
		return
	}
	if len(cfg.Models.Chat) == 0 {
		c := cfg.Models.Large
		options := providers.Options{Model: c.Model, MaxTokens: c.MaxTokens, Parameters: parameters(c.Parameters), Setting: "models.large.model (OPENAI_MODEL)"}
		uses := uses(cfg, "models.large", c.Sees(), true)
		m.Large, m.name = m.answering(cfg, env, "models.large", options, cfg.LargeProvider(), uses)
		return
	}
	for i, c := range cfg.Models.Chat {
		provider := c.Provider
		if provider == config.ProviderAuto {
			provider = cfg.LargeProvider()
		}
		options := providers.Options{
			Model: c.Model, MaxTokens: c.MaxTokens, Parameters: parameters(c.Parameters), URL: c.URL, APIKey: c.APIKey.Reveal(),
			Setting: fmt.Sprintf("models.chat[%d].model", i), Name: c.Name, Agent: agentOptions(c),
		}
		sees := c.Vision != nil && *c.Vision
		uses := uses(cfg, fmt.Sprintf("models.chat[%d]", i), sees, c.Tools == nil || *c.Tools)
		model, name := m.answering(cfg, env, "models.chat."+c.Name, options, provider, uses)
		agent, _ := cfg.Provider(provider)
		m.Chat = append(m.Chat, llm.Named{
			Name: c.Name, Model: model, Label: name, Vision: sees, Thinking: thinking(c.Thinking), NoTools: c.Tools != nil && !*c.Tools, Prompt: c.PromptTokens, Fallback: c.Fallback,
			Agent: agent.Agents, Remembers: agent.Agents || string(c.History) == providers.HistoryLast, Files: slices.Contains(c.Share, providers.ShareFiles), FileLinks: slices.Contains(c.Share, providers.ShareFileLinks),
		})
	}
	m.Large, m.name = m.Chat[0].Model, m.Chat[0].Label
}

// agentOptions returns the options of a model for agents.
func agentOptions(c config.ChatModel) providers.Agent {
	a := providers.Agent{Protocol: string(c.Protocol), History: string(c.History), SigningKey: c.SigningKey.Reveal()}
	for _, s := range c.Share {
		a.Share = append(a.Share, string(s))
	}
	return a
}

// userKeyName is the storage key of the key that makes ids of users for agents.
const userKeyName = "key of agents"

// pseudonym returns the id of a user for agents: it does not tell the account, and is the same in every room and for every
// agent. It fails with the error of the store.
func (g *Gateway) pseudonym(ctx context.Context, user chat.EntityID) (string, error) {
	key, err := storedKey(ctx, g.backends.memo, userKeyName)
	if err != nil {
		return "", err
	}
	return signature.Sign(key, "user", []byte(user))[:32], nil
}

// answering creates a model that answers, and returns its name for logs. key is its key in the configuration, for
// checks.
func (m *models) answering(cfg config.Config, env Env, key string, o providers.Options, provider config.Provider, uses wire.Uses) (llm.Model, string) {
	if provider == config.ProviderDemo {
		m.try(key, func(context.Context) (string, error) {
			return "using the demo model; set OPENAI_API_KEY or OPENAI_BASE_URL for a real one", nil
		})
		return demo.New(), "demo"
	}
	model := m.open(cfg, env, provider, o)
	name := o.Model
	s, _ := cfg.Provider(provider)
	if s.Agents {
		uses = wire.Uses{} // it has its own
	}
	m.try(key, func(ctx context.Context) (string, error) { return model.Check(ctx, uses) })
	if t, ok := model.(toolChecker); ok && uses.Tools != "" {
		m.takers = append(m.takers, taker{key, t})
	}
	switch {
	case s.Agents:
		name = fmt.Sprint(model)
	case name != "":
	case provider == config.ProviderOpenAI:
		name = "the only model of " + cfg.Providers.OpenAI.BaseURL
	default:
		name = "the only model of " + string(provider)
	}
	return model.(llm.Model), name
}

// withVision returns cfg with the known value, true or false, in place of vision: auto of each model that answers. It skips
// the owner's own agents, because their names don't identify a model.
func withVision(cfg config.Config) config.Config {
	known := func(set *bool, provider config.Provider, model string) *bool {
		s, _ := cfg.Provider(provider)
		if set != nil || s.Agents || provider == config.ProviderDemo || provider == providerEmbedded {
			return set
		}
		sees := prices.Sees(model)
		return &sees
	}
	cfg.Models.Large.Vision = known(cfg.Models.Large.Vision, cfg.LargeProvider(), cfg.Models.Large.Model)
	cfg.Models.Chat = slices.Clone(cfg.Models.Chat)
	for i, c := range cfg.Models.Chat {
		provider := c.Provider
		if provider == config.ProviderAuto {
			provider = cfg.LargeProvider()
		}
		cfg.Models.Chat[i].Vision = known(c.Vision, provider, c.Model)
	}
	return cfg
}

// uses returns the features that an answering model is used with. path is its place in the configuration.
func uses(cfg config.Config, path string, vision, tools bool) (u wire.Uses) {
	if tools && !cfg.Agent.Generation.XML() {
		u.Tools = "set " + path + ".tools: false, or choose another one"
		if len(cfg.Models.Chat) == 0 {
			u.Tools = "set agent.generation: xml, or choose another one"
		}
	}
	if vision {
		u.Images = "set " + path + ".vision: false, or choose another one"
	}
	return u
}

// parameters converts the parameters of the requests to a model.
func parameters(p config.Parameters) providers.Parameters {
	o := providers.Parameters{Temperature: p.Temperature, TopP: p.TopP, Stop: p.Stop, Seed: p.Seed, ThinkingBudget: p.ThinkingBudget, Extra: p.Extra()}
	if p.ReasoningEffort != nil {
		o.Effort = string(*p.ReasoningEffort)
	}
	return o
}

// reader returns the reader of attachments. Images are shown to models with vision; for later questions, and for models
// without vision, a model describes them. That is models.vision, or else the first answering model with vision that is no
// agent.
func (g *Gateway) reader(e *edition) *media.Reader {
	m := e.models.Models
	sees := slices.IndexFunc(m.Answering(), func(n llm.Named) bool { return n.Vision })
	describes := slices.IndexFunc(m.Answering(), func(n llm.Named) bool { return n.Vision && !n.Agent })
	if m.Vision == nil && describes >= 0 {
		m.Vision = m.Answering()[describes].Model // for later questions about an image, and for models that see none
	}
	return media.New(media.Options{Fetch: g.fetch, Vision: m.Vision, Transcriber: m.Transcriber, Sees: sees >= 0, Documents: g.env.documents(), Log: g.env.Log})
}

// fetch downloads a file from the connector that it came from, or a page that a message links to. Connectors are looked
// up when it is called, because the web chat is created after the reader.
func (g *Gateway) fetch(ctx context.Context, connector string, f chat.Attachment, limit int64) (llm.File, error) {
	if f.Link {
		return g.pages.Fetch(ctx, f, limit)
	}
	// Files of forms and of other platforms are copied to the store.
	if file, err := attachment.Stored(ctx, g.backends.store, f, limit); !errors.Is(err, chat.ErrNotFound) {
		return file, err
	}
	for _, c := range g.connectors {
		if from, ok := c.(connectors.Fetcher); ok && c.Name() == connector {
			return from.Fetch(ctx, f, limit)
		}
	}
	return llm.File{}, fmt.Errorf("%w: the connector %s does not provide files", chat.ErrNotFound, connector)
}
