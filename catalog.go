package parley

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	stores "parley/backends"
	"parley/backends/inmem"
	"parley/backends/redis"
	"parley/config"
	"parley/connectors"
	"parley/connectors/discord"
	"parley/connectors/telegram"
	"parley/connectors/web"
	"parley/core"
	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/recall"
	"parley/core/relay"
	"parley/core/schedule"
	"parley/core/storage"
	"parley/internal/guard"
	"parley/internal/lang"
	"parley/internal/observe"
	"parley/internal/sections"
	"parley/internal/settings"
	"parley/internal/trace"
	"parley/models/agent"
	"parley/models/anthropic"
	"parley/models/gemini"
	"parley/models/openai"
	"parley/models/responses"
	demoplugin "parley/plugins/demo"
	"parley/plugins/essentials"
	"parley/plugins/knowledge"
	"parley/plugins/mcp"
	"parley/plugins/mcp/oauth"
	"parley/plugins/player"
	"parley/plugins/remind"
	webtools "parley/plugins/web"
	"parley/plugins/webhook"
	"parley/progressive"
)

// backends holds the store and the shared state, typed by the interfaces that the gateway uses.
type backends struct {
	store   storage.Store
	id      string // the store's unique id
	tracker core.Tracker
	bus     relay.Bus
	holds   progressive.Holds // the store, or a wrapper of it, as are windows and memo
	windows progressive.Windows
	memo    connectors.SharedState
	leases  connectors.Leases        // nil if no other gateway can use the store
	log     *slog.Logger             // hides conversation ids
	sampler trace.Sampler            // chooses the traces to record
	ledger  progressive.SharedBudget // nil without Redis
	ready   func(context.Context) error
	shared  func(context.Context) error // checks that Redis responds; nil without Redis
	limited func() string               // what works with limits, and why; "" for nothing. It does not wait. May be nil
	closers []func() error              // called by close, the last one first
}

func (b backends) close() {
	for i := len(b.closers) - 1; i >= 0; i-- {
		_ = b.closers[i]() // an error loses nothing: accepted messages are already committed
	}
}

// ErrRunning is the error that [New] returns if another gateway uses the configured store.
var ErrRunning = errors.New("a gateway is running")

// several reports whether other gateways can use the store at the same time.
func several(cfg config.Config) bool { return cfg.Shared.Scheme() != "inmem" }

// streams returns the prefixes of the names of stored places in streams of events. The other state of platforms
// stays true after a restore, such as the new ids of groups.
func streams() []string { return []string{discord.Name + "/"} }

// openBackends opens the store and the shared state. With shared memory it claims the store for itself.
func openBackends(cfg config.Config, env Env, metrics *observe.Metrics) (backends, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stores.Wait)
	defer cancel()
	options, shares := stores.Options{Several: several(cfg)}, redis.Options{Dial: env.Dial, Name: cfg.Cluster}
	if cfg.Metrics.Listen != "" {
		options.Observe, shares.Observe = metrics.Store, metrics.Redis
	}
	store, err := env.OpenStore(ctx, cfg.Store.Reveal(), options)
	if _, used := stores.InUse(err); used {
		return backends{}, fmt.Errorf("open the store: %w: %w", ErrRunning, err)
	} else if err != nil {
		return backends{}, fmt.Errorf("open the store: %w", err)
	}
	b := backends{store: env.Wrap(store), id: store.ID(), holds: store, memo: store, ready: readiness(store), closers: []func() error{store.Close}}
	if memo, ok := b.store.(connectors.SharedState); ok { // a wrapper of tests that implements it too is preferred
		b.memo = memo
	}
	if leases, ok := store.(connectors.Leases); ok && several(cfg) {
		b.leases = leases
	}
	if w, ok := store.(interface {
		Warning(context.Context) (string, error)
	}); ok {
		if text, err := w.Warning(ctx); err == nil && text != "" {
			env.Log.Warn("the store is not safe against power cuts", "why", text)
		}
	}
	if b.log, b.sampler, err = private(ctx, b.memo, env.Log, cfg.Traces); err != nil {
		b.close()
		return backends{}, err
	}
	b.windows = store
	if w, ok := b.store.(progressive.Windows); ok {
		b.windows = w
	}
	switch cfg.Shared.Scheme() {
	case "inmem":
		b.tracker = inmem.NewTracker() // and no bus: there are no other replicas
	default:
		shares.Log, shares.Store = b.log, store.ID()
		shared, err := redis.Open(cfg.Shared.Reveal(), shares)
		if err == nil {
			b.closers = append(b.closers, shared.Close)
			err = shared.Join(ctx)
		}
		if err != nil {
			b.close()
			return backends{}, fmt.Errorf("open shared: %w", err)
		}
		b.tracker, b.bus, b.ledger = shared.Tracker(), shared.Bus(), shared.Ledger()
		b.shared, b.limited = shared.Ping, limitedBy(shared)
	}
	return b, nil
}

// recallOf returns the options of recall. Without an embedding model it searches by words only, with a warning: the
// gateway still works.
func recallOf(cfg config.Config, env Env, store storage.Store, models llm.Models) recall.Deps {
	d := recall.Deps{Store: store, Log: env.Log}
	if !cfg.Agent.Recall.ByMeaning() {
		return d
	}
	d.Embedder, d.Backfill, d.Model = models.Embedder, cfg.Agent.Recall == config.RecallAll, embedding(cfg)
	d.Several = several(cfg)
	if d.Embedder == nil {
		env.Log.Warn("agent.recall: meaning needs an embedding model; recall searches by words", "set", "models.embedding.model")
	}
	return d
}

// knowledgeOf returns the options of the plugin knowledge.
func knowledgeOf(cfg config.Config, env Env, store storage.Store, models llm.Models, asker *recall.Asker) knowledge.Options {
	convert := func(all []config.Document) (documents []knowledge.Document) {
		for _, d := range all {
			documents = append(documents, knowledge.Document(d))
		}
		return documents
	}
	return knowledge.Options{
		Sitemaps:  cfg.Agent.Sources.Sitemaps(),
		Site:      siteOf(env.Dial),
		Documents: convert(cfg.Agent.Documents), Stamp: cfg.Agent.Sources.Stamp, Extract: env.documents(),
		Read: func(extract func([]byte) (string, error)) ([]knowledge.Document, []string) {
			all, warnings := cfg.Agent.Sources.Read(extract)
			return convert(all), warnings
		},
		Store: store, Embedder: models.Embedder, Model: embedding(cfg), Asker: asker, Log: env.Log,
	}
}

// siteOf returns how the pages of a site are downloaded: only from its own host, on the public internet.
func siteOf(dial connectors.Dialer) func(host string) func(context.Context, string, int64) ([]byte, string, error) {
	return func(host string) func(context.Context, string, int64) ([]byte, string, error) {
		client := guard.New(guard.Options{Hosts: []string{host}, Dial: dial})
		return func(ctx context.Context, address string, limit int64) ([]byte, string, error) {
			data, kind, err := client.Get(ctx, address, limit)
			if errors.Is(err, guard.ErrGone) {
				err = fmt.Errorf("%w: %w", chat.ErrNotFound, err)
			}
			return data, kind, err
		}
	}
}

// embedding returns a name for the model of embeddings, which is stored with vectors: those of different models can't
// be compared.
func embedding(cfg config.Config) string {
	if cfg.Models.Embedding.Model == "" {
		return "the program's own"
	}
	return string(cfg.SlotProvider(cfg.Models.Embedding)) + " " + cfg.Models.Embedding.Model
}

// addConfigured adds the plugins of the configuration. Add new plugins here. The demo model gets no evaluation or
// reflection, which would only cost time. The first argument of add names everything that the plugin is made from.
func (b *pluginBuilder) addConfigured(cfg config.Config, store storage.Store, meter *quota.Meter, models llm.Models) error {
	env, isDemo := b.env, cfg.LargeProvider() == config.ProviderDemo
	metered := modelInputs(cfg)
	b.add("essentials", inputs{metered, cfg.Agent.Reflection, cfg.Timezone, cfg.Agent.FactScope, cfg.Agent.FactDays}, func() (action.Plugin, error) {
		return essentials.New(essentials.Deps{
			Store: store, ImageGenerator: models.ImageGenerator, Speaker: models.Speaker, Small: models.Small, Reflection: cfg.Agent.Reflection && !isDemo, Evaluation: !isDemo, Log: env.Log,
			Zone: cfg.Zone(), FactScope: essentials.FactScope(cfg.Agent.FactScope), FactLife: time.Duration(cfg.Agent.FactDays) * 24 * time.Hour,
		}), nil
	})
	asker := recall.NewAsker(models.Embedder, env.Log)
	searched := inputs{metered, cfg.Agent.Recall, cfg.Agent.Documents, cfg.Agent.Knowledge, cfg.Agent.KnowledgeRoots, cfg.Files} // of both, because they share the asker
	b.add("knowledge", searched, func() (action.Plugin, error) {
		return knowledge.New(knowledgeOf(cfg, env, store, models, asker)), nil
	})
	if cfg.Agent.Recall != config.RecallOff {
		b.add("recall", searched, func() (action.Plugin, error) {
			d := recallOf(cfg, env, store, models)
			d.Asker = asker
			return recall.New(d), nil
		})
	}
	if cfg.Initiative.Reminders {
		b.add("remind", inputs{metered, cfg.Initiative, cfg.Timezone}, func() (action.Plugin, error) {
			return remind.New(remind.Options{
				Store: store, Zone: cfg.Zone(), Quiet: cfg.Quiet(), Count: countReminder(meter, store), Log: env.Log,
			}), nil
		})
	}
	if isDemo {
		b.add("demo", nil, func() (action.Plugin, error) { return demoplugin.New(rand.IntN), nil })
	}
	if p := cfg.Plugins.Player; p.On() {
		b.add("player", inputs{p}, func() (action.Plugin, error) {
			return player.New(player.Options{Folder: p.Folder, URLs: p.URLs, Dial: env.Dial})
		})
	}
	if w := cfg.Plugins.Web; w.Fetch || w.Search.Provider != "" {
		b.add("web", inputs{w}, func() (action.Plugin, error) {
			return webtools.New(webtools.Options{
				Parser: env.Parser, Fetch: w.Fetch, Search: webtools.Search{Provider: string(w.Search.Provider), URL: w.Search.URL, Key: w.Search.Key.Reveal()},
				Available: settings.Users(w.Who, nil), Dial: env.Dial,
			}), nil
		})
	}
	if len(cfg.Tools) > 0 {
		b.add("webhook", inputs{cfg.Tools}, func() (action.Plugin, error) { return webhook.New(webhooks(cfg), webhook.Dialer(env.Dial)), nil })
	}
	if len(cfg.MCP) > 0 {
		xml := asksForm(cfg, env)
		b.add(mcp.Name, inputs{cfg.MCP, cfg.SecretKey, xml}, func() (action.Plugin, error) {
			key, _ := oauth.ParseKey(cfg.SecretKey.Reveal()) // the configuration was checked: it is there if a server needs it
			return mcp.New(mcp.Options{Servers: mcpServers(cfg), Key: key, XML: xml, Reserved: commandNames(), Dial: env.Dial, Log: env.Log}), nil
		})
	}
	return b.err
}

// countReminder returns a function that counts a reminder towards the daily limits of messages, and returns when it may
// be sent instead if one is reached.
func countReminder(meter *quota.Meter, store access.LinkReader) func(context.Context, chat.Reminder) (time.Time, error) {
	return func(ctx context.Context, r chat.Reminder) (time.Time, error) {
		person, err := access.PersonOf(ctx, store, r.Person)
		if err == nil {
			err = meter.CountSent(ctx, r.Room, person)
		}
		var over *quota.LimitError
		if errors.As(err, &over) {
			return over.Until, nil
		}
		return time.Time{}, err
	}
}

// Platforms returns the sections of the chat platforms. Add new platforms here.
func Platforms() []sections.Section {
	return []sections.Section{
		discord.Section(),
		telegram.Section(),
	}
}

// Providers returns the sections of the model providers other than OpenAI, which has its own type in package config.
// Add new providers here.
func Providers() []sections.Section {
	return slices.Concat(
		[]sections.Section{anthropic.Section(), gemini.Section(), responses.Section(), agent.Section()},
		openai.Presets(),
	)
}

// described returns the sections of all platforms and providers.
func described() []sections.Section { return slices.Concat(Platforms(), Providers()) }

// LoadConfig reads a configuration file that can have the sections of all platforms and providers. It fails like
// [config.Load].
func LoadConfig(path string, getenv func(string) (string, bool)) (config.Config, error) {
	cfg, err := config.Load(path, getenv, described()...)
	return withVision(cfg), err
}

// ParseConfig reads a configuration from data, like [LoadConfig]; see [config.Parse].
func ParseConfig(name string, data []byte, dir string, getenv func(string) (string, bool)) (config.Config, error) {
	cfg, err := config.Parse(name, data, dir, getenv, described()...)
	return withVision(cfg), err
}

// DefaultConfig returns the configuration without a file. It fails like [config.Default].
func DefaultConfig(getenv func(string) (string, bool)) (config.Config, error) {
	return config.Default(getenv, described()...)
}

// platforms returns the connectors that the configuration enables. Each gets the dependencies that deps returns for its
// name.
func platforms(cfg config.Config, deps func(name string) connectors.Deps) (on []Connector) {
	for _, s := range cfg.ConnectorsOn() {
		c := s.Values.(connectors.Settings)
		on = append(on, Connector{c.Connect(deps(s.Name)), c.Budgets()})
	}
	return on
}

// look returns how the page looks.
func look(w config.Widget) web.Look {
	l := web.Look{Greeting: w.Greeting, Avatar: w.Avatar, Privacy: w.Privacy, Accent: w.Accent}
	if w.Position != "right" {
		l.Position = string(w.Position)
	}
	return l
}

// suggestions returns the configured first messages; otherwise those that show the demo model's features.
func suggestions(cfg config.Config) []string {
	if set := cfg.Web.Widget.Suggestions; len(set) > 0 {
		return set
	}
	if cfg.LargeProvider() == config.ProviderDemo {
		return []string{"What can you do?", "Show me progress", "Play something", "Roll a die"}
	}
	return nil
}

// turns returns the policy of turns.
func turns(cfg config.Config) schedule.TurnPolicy {
	return schedule.TurnPolicy{
		Direct: schedule.Policy(cfg.Turns.Direct), Group: schedule.Policy(cfg.Turns.Group),
		Window: cfg.Turns.Window, Limit: cfg.Turns.Timeout, First: cfg.Turns.FirstEvent, Idle: cfg.Turns.Idle,
		OnEdit: schedule.EditPolicy(cfg.Turns.OnEdit),
	}
}

// generation returns how the model is asked.
func generation(a config.Agent) generate.Config {
	g := generate.Config{MultiStep: a.Generation == config.GenerateSteps, MaxSteps: a.MaxSteps}
	if a.Generation.XML() {
		g.Mode = generate.XML
	}
	return g
}

// opener returns a function that opens the conversation of a run by its address. A conversation of the web chat has no
// surface: its readers follow the answer itself. A platform that is off now makes the run wait, see chat.ErrUnreached.
func opener(posters map[string]connectors.Poster, gate progressive.Gate, journal progressive.Journal, buttons func() bool, env Env) core.Opener {
	recoveries := map[string]*progressive.Recovery{}
	for name := range posters {
		recoveries[name] = &progressive.Recovery{}
	}
	return func(ctx context.Context, r chat.Run) (core.Surface, error) {
		p, ok := posters[r.Address.Connector]
		switch {
		case !ok && r.Address.Connector == web.Name:
			return nil, nil
		case !ok:
			return nil, fmt.Errorf("%w: the connector %s is off", chat.ErrUnreached, r.Address.Connector)
		}
		sink, err := p.Open(ctx, r.Address)
		if err != nil {
			return nil, err
		}
		options := []progressive.Option{progressive.WithJournal(r, journal), progressive.WithRecovery(recoveries[r.Address.Connector])}
		if buttons() {
			options = append(options, progressive.WithButtons(r, lang.Of(ctx)))
		}
		return progressive.New(sink, gate, r, env.Log, options...), nil
	}
}

// signaler returns the requests that show the status of messages, for [core.Config].
func signaler(signalers map[string]connectors.Signaler, gate progressive.Gate) func(chat.Signal) func(context.Context) error {
	return func(s chat.Signal) func(context.Context) error {
		p := signalers[s.To.Connector]
		if p == nil {
			return nil
		}
		if _, show := p.Signal(s); show == nil {
			return nil
		}
		priority := progressive.PriorityStatus
		if s.Is == chat.NoStatus { // a status that has ended goes before the edits of other answers
			priority = progressive.PriorityFirst
		}
		return func(ctx context.Context) (err error) {
			for i, m := range s.Messages {
				scopes, show := p.Signal(chat.Signal{To: s.To, Messages: []chat.MemoryID{m}, Was: s.Was, Is: s.Is})
				if show == nil {
					continue
				}
				leave, failed := gate.Enter(ctx, progressive.Ticket{Scopes: scopes, Priority: priority})
				if failed == nil {
					ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signalTime)
					failed = show(ctx)
					cancel()
					leave(failed)
				}
				if i == 0 || ctx.Err() == nil { // otherwise a part is shown, and must be removed
					err = errors.Join(err, failed)
				}
			}
			return err
		}
	}
}

const signalTime = 30 * time.Second // of a request that shows the status of a message

// closingGate is a gate that saves the used budgets when it is closed.
type closingGate interface {
	progressive.Gate
	Close() error
}

// newGate returns the gate of all requests to platforms. The kind of a scope is its name up to the first slash, and has
// its budget from the connector. The usage of an earlier process counts, and so do its holds; if runs were open, it
// may have used more than it could save.
func newGate(ctx context.Context, on []Connector, b backends, log *slog.Logger) (closingGate, error) {
	budgets := map[string]progressive.Budget{}
	for _, p := range on {
		maps.Copy(budgets, p.Budgets)
	}
	budget := func(s progressive.Scope) progressive.Budget { return budgets[s.Kind()] }
	open, err := b.store.OpenRooms(ctx)
	if err != nil {
		return nil, fmt.Errorf("list open runs: %w", err)
	}
	remembering, err := progressive.WithHoldStore(ctx, b.holds, log)
	if err != nil {
		return nil, err
	}
	continuing, err := progressive.WithWindows(ctx, b.windows, len(open) > 0, log)
	if err != nil {
		return nil, err
	}
	if b.ledger != nil {
		return progressive.NewSharedGate(b.ledger, budget, remembering, continuing), nil
	}
	return progressive.NewGate(budget, remembering, continuing), nil
}
