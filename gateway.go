// Package parley builds and runs the whole gateway. [New] builds every part from a configuration and from the [Env] of
// the embedding program; [Gateway.Run] runs them and shuts them down in order. The command cmd/gateway is one such
// program.
//
// This is the only package that knows all others. catalog.go lists the connectors, stores, models and
// plugins; the other files translate the configuration into the options of each. Parts get their inputs as values and
// functions, so that none of them reads the configuration.
package parley

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/config"
	"parley/connectors"
	"parley/connectors/web"
	"parley/connectors/web/identity"
	"parley/core"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/storage"
	"parley/internal/local"
	"parley/internal/observe"
	"parley/internal/settings"
	"parley/internal/signature"
	"parley/internal/version"
	webtools "parley/plugins/web"
	"parley/progressive"
)

// Gateway is one gateway process. New fills it; afterwards Reload changes now and broken, and nothing else changes except in
// the parts that have their own locks.
type Gateway struct {
	cfg        config.Config // of the start
	env        Env
	owner      string // a name of this process, unique among all processes
	backends   backends
	runtime    *core.Runtime
	open       core.Opener
	signal     func(chat.Signal) func(context.Context) error
	web        *web.Web
	now        atomic.Pointer[edition]
	reloading  sync.Mutex     // held by Reload
	broken     atomic.Bool    // the configuration that was read last is invalid
	pages      webtools.Pages // fetches pages that messages link to
	connectors []connectors.Connector
	mounts     map[string]http.Handler // of the connectors, by path: see [connectors.Mounted]
	titlers    map[string]connectors.Titler
	states     []state  // of the platforms
	ended      sync.Map // the names of the connectors that have stopped permanently
	bots       bool     // at least one chat platform is enabled
	addr       net.Addr
	monitoring monitoring
}

// New builds a gateway: it opens the store and the web listener, but makes no request to any service. If it returns an
// error, everything that was opened is closed again. The caller must call [Gateway.Run], which also closes the store.
func New(cfg config.Config, env Env) (_ *Gateway, err error) {
	env = env.filled()
	cfg = env.applyTo(cfg)
	// First, because it needs nothing: a gateway whose limit of money can't be enforced must not start.
	if err := requirePrices(cfg); err != nil {
		return nil, err
	}
	g := &Gateway{cfg: cfg, env: env, owner: owner(), pages: webtools.NewPages(env.Dial, env.Parser)}
	g.monitoring.metrics = observe.NewMetrics(version.Current().Short())
	if g.backends, err = openBackends(cfg, g.env, g.monitoring.metrics); err != nil {
		return nil, err
	}
	// From here on, conversation ids in the log are hashed.
	g.env.Log = g.backends.log
	g.setLevel(cfg)
	defer func() {
		if err != nil {
			g.backends.close()
		}
	}()
	g.addTraces()
	first, err := g.newEdition(cfg, nil)
	if err != nil {
		return nil, err
	}
	g.now.Store(first)
	g.backends.closers = append(g.backends.closers, func() error { return g.now.Load().models.close() })
	if g.open, err = g.addPlatforms(); err != nil {
		return nil, err
	}
	if g.runtime, err = core.New(g.runtimeConfig(first)); err != nil {
		return nil, settings.InPlace(cfg, err)
	}
	if err = g.initPlugins(first); err != nil {
		return nil, err
	}
	if err = g.listenMetrics(); err != nil {
		return nil, err
	}
	return g, g.addWeb(first)
}

// addPlatforms creates the enabled connectors, and returns an opener for their conversations. Each connector gets a
// lease, so that of several gateways only one receives the messages of a bot, and its state under that lease. One that
// is divided into shards takes a lease for each instead.
func (g *Gateway) addPlatforms() (core.Opener, error) {
	leases := map[string]*connectors.Lease{}
	lease := func(name string) *connectors.Lease {
		if leases[name] == nil {
			leases[name] = connectors.NewLease(g.backends.leases, name, g.owner, g.env.Log)
		}
		return leases[name]
	}
	var paced progressive.Gate // of all requests, once the budgets of all connectors are known
	on, err := allPlatforms(g.cfg, func(name string) connectors.Deps {
		return connectors.Deps{
			Log: g.env.Log, Dial: g.env.Dial, Memo: lease(name).State(g.backends.memo),
			Shards:   connectors.NewShards(g.backends.leases, g.backends.memo, name, g.owner, g.env.Log),
			Commands: func() []chat.CommandSpec { return g.promptCommands(name) },
			Enter:    func(ctx context.Context, t progressive.Ticket) (func(error), error) { return paced.Enter(ctx, t) },
		}
	}, g.env)
	if err != nil {
		return nil, err
	}
	posters, signalers := map[string]connectors.Poster{}, map[string]connectors.Signaler{}
	g.bots, g.mounts, g.titlers = len(on) > 0, map[string]http.Handler{}, map[string]connectors.Titler{}
	for _, p := range on {
		g.connectors = append(g.connectors, lease(p.Name()).Wrap(p.Connector))
		g.states = append(g.states, g.stateOf(p.Name(), p.Connector))
		if m, ok := p.Connector.(connectors.Mounted); ok {
			if path, h := m.Mount(); h != nil {
				g.mounts[path] = h
			}
		}
		if t, ok := p.Connector.(connectors.Titler); ok {
			g.titlers[p.Name()] = t
		}
		if poster, ok := p.Connector.(connectors.Poster); ok {
			posters[p.Name()] = poster
		}
		if s, ok := p.Connector.(connectors.Signaler); ok {
			signalers[p.Name()] = s
		}
		if closer, ok := p.Connector.(io.Closer); ok {
			g.backends.closers = append(g.backends.closers, closer.Close)
		}
	}
	// Closers run in reverse order, so the gate saves the usage while the store is still open, and after Run has
	// ended all connectors.
	gate, err := newGate(context.Background(), on, g.backends, g.env.Log)
	if err != nil {
		return nil, err
	}
	g.backends.closers = append(g.backends.closers, func() error {
		if err := gate.Close(); err != nil {
			g.env.Log.Warn("the request budgets can't be saved; the next start sends more slowly for a moment", "err", err)
		}
		return nil
	})
	paced = observe.Gate(gate, g.monitoring.metrics, g.monitoring.traces)
	g.signal = signaler(signalers, paced)
	return opener(posters, paced, g.backends.store.ShownIn, func() bool { return g.now.Load().cfg.Turns.Buttons }, g.env), nil
}

// state is a part of the gateway, and what of it works with limits, and why: see [connectors.Limited].
type state struct {
	name    string
	limited func() string
}

func (g *Gateway) stateOf(name string, c connectors.Connector) state {
	return state{name, func() string {
		if _, ended := g.ended.Load(name); ended {
			return name + " has stopped, and the log says why"
		}
		if l, ok := c.(connectors.Limited); ok {
			return l.Limited()
		}
		return ""
	}}
}

// parts returns the states of the platforms, and those without a name of the other parts that can have limits.
func (g *Gateway) parts() []state {
	all := slices.Clone(g.states)
	if g.backends.limited != nil {
		all = append(all, state{limited: g.backends.limited})
	}
	return append(all, state{limited: g.brokenText})
}

// limits returns what works with limits, and why; "" for nothing.
func (g *Gateway) limits() string {
	var reasons []string
	for _, s := range g.parts() {
		if why := s.limited(); why != "" {
			reasons = append(reasons, why)
		}
	}
	return strings.Join(reasons, "; ")
}

// title sets the title of a conversation on its platform. A platform without titles, or that is off now, keeps it as it is.
func (g *Gateway) title(ctx context.Context, to chat.Address, title string) error {
	t, ok := g.titlers[to.Connector]
	if !ok {
		return nil
	}
	return t.Title(ctx, to, title)
}

// addWeb listens and creates the web chat, and announces the address to commands on this machine.
func (g *Gateway) addWeb(e *edition) error {
	l, err := listen(g.cfg, g.env)
	if err != nil {
		return err
	}
	g.addr = l.Addr()
	g.monitoring.secure, err = secure(g.cfg, g.env)
	if err != nil {
		_ = l.Close()
		return err
	}
	token, err := local.Announce(g.cfg, g.addr)
	if err != nil {
		g.env.Log.Warn("can't publish this gateway's address; gateway pair won't find it", "err", err)
	}
	g.backends.closers = append(g.backends.closers, func() error { return local.Withdraw(g.cfg) })
	o := g.webOptions(e)
	if !several(g.cfg) {
		o.Drained = g.runtime.Drained()
	}
	o.Listener, o.LocalToken, o.Secure, o.Mounts = l, token, g.monitoring.secure, g.mounts
	o.Local = local.Handler(keptStore{g.backends.store, g.backends.memo}, reloadable{g.runtime, g})
	g.web = web.New(o)
	g.connectors = append(g.connectors, g.web)
	return nil
}

// accounts returns the verifier of the tokens of visitors with an account, or nil. It fails if the key can't be read.
func accounts(a config.Accounts) (*identity.Site, error) {
	if !a.On() {
		return nil, nil
	}
	site, err := identity.NewSite(identity.SiteConfig{
		Secret: a.Secret.Reveal(), PublicKey: a.PublicKey, JWKS: a.JWKS, Audience: a.Audience,
	})
	if err != nil {
		return nil, fmt.Errorf("web.accounts: %w", err)
	}
	return site, nil
}

// webOptions returns the options of the web chat that follow from e.
func (g *Gateway) webOptions(e *edition) web.Options {
	c, reader := e.cfg.Web, g.reader(e)
	hook := web.ContactHook{URL: c.ContactURL.Reveal(), Dial: g.env.Dial}
	if key := e.cfg.SecretKey.Reveal(); key != "" {
		hook.Secret = signature.Sign(key, "web", []byte("contact_url")) // of the text web.contact_url: its endpoint does not learn the key
	}
	return web.Options{
		Rated: func(answer chat.Memory, by chat.EntityID, rating, reason string) {
			g.runtime.Emit(event.FeedbackReceived{Message: answer, Author: by, Rating: rating, Reason: reason})
		},
		Contact: func(ctx context.Context, c web.Contact) error {
			return g.runtime.PassOn(ctx, "contact/"+c.Key, c.ReplyTo, c.Text)
		},
		Left: func(c web.Contact) {
			g.runtime.Emit(event.ContactReceived{Key: c.Key, ReplyTo: c.ReplyTo, Text: c.Text})
		},
		ContactHook: hook, Verify: web.Verify{SiteKey: c.Verify.SiteKey, Secret: c.Verify.Secret.Reveal()},
		Site: e.site, RequireIdentity: c.RequireIdentity, ClaimUntil: c.ClaimTime(),
		Reasoning: e.cfg.ShowsReasoning(), Public: c.Public, Agent: settings.Agent(e.cfg), Answers: g.runtime, Store: g.backends.store, Origins: append(c.TLS.Origins(), c.Origins...),
		Proxies: c.TrustedProxies, Limits: web.Limits(c.Limits), Ready: g.backends.ready,
		Limited: g.limits, Log: g.env.Log,
		Memo: g.backends.memo, Zone: e.cfg.Zone(), Blocked: g.runtime.Blocked,
		Refuse: reader.Refuse, Accept: reader.Accept(), Thumbnail: g.env.thumbnails(), Suggestions: suggestions(e.cfg), Look: look(c.Widget), Hooks: e.tasks, Agents: e.tasks, AgentFile: g.agentFile, Setup: g.env.Setup, Admin: g.operatorsPage(e),
	}
}

// reloadable is the runtime of a gateway that can be reloaded, for commands.
type reloadable struct {
	*core.Runtime
	gateway *Gateway
}

// Reload implements [local.Runtime].
func (r reloadable) Reload(ctx context.Context) ([]string, error) { return r.gateway.Reload(ctx) }

// keptStore joins a store with the values that are stored in it under names, as the commands need both.
type keptStore struct {
	storage.Store
	connectors.SharedState
}

// owner returns a name of this process that no other has, also not one that starts later on the same host with the same
// process id.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%x", host, os.Getpid(), rand.Uint64())
}

// Addr returns the web chat's address.
func (g *Gateway) Addr() net.Addr { return g.addr }

// Model returns the name of the model that answers.
func (g *Gateway) Model() string { return g.now.Load().models.name }

// Say sends a message of the agent, on its own initiative. It returns when the message is stored: it is sent once, also after a
// restart, and not while an answer is written in the same room. See [core.Runtime.Say] for its errors.
func (g *Gateway) Say(ctx context.Context, n chat.Notice) (chat.Accepted, error) {
	return g.runtime.Say(ctx, n)
}

// SetTemplates replaces templates of the character while the gateway runs, and fails like [core.Runtime.SetTemplates].
func (g *Gateway) SetTemplates(texts map[string]string) error { return g.runtime.SetTemplates(texts) }

// Templates returns the templates of the character: see [core.Runtime.Templates].
func (g *Gateway) Templates() map[string]string { return g.runtime.Templates() }

// Run serves until ctx ends. Then it stops in the order of the message flow: connectors accept no more, answers get
// the time of shutdown to finish, and the store is closed last. Streams end at once where other gateways continue them, and
// with the answers otherwise. It returns an error if a part failed that can't
// be restarted. It can only be called once.
func (g *Gateway) Run(ctx context.Context) error {
	defer g.backends.close()
	g.lookForOwner(ctx)
	intake, stopIntake := context.WithCancel(ctx)
	defer stopIntake()
	// Answers outlive ctx, which only ends the intake.
	answering, stopAnswering := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAnswering()

	var takers, readers sync.WaitGroup
	failed := make(chan error, len(g.connectors))
	for _, c := range g.connectors {
		part := &takers
		if c.Name() == web.Name && !several(g.cfg) {
			part = &readers // its streams end with the answers
		}
		part.Go(func() {
			if err := connectors.Supervise(intake, c, g.runtime.ProcessMessage, g.env.Log); err != nil {
				g.ended.Store(c.Name(), nil)
				failed <- err
			}
		})
	}
	var runtime sync.WaitGroup
	var runErr error
	runtime.Go(func() { runErr = g.runtime.Run(answering) })

	// Counting ends last: ending answers still use tokens.
	counting, stopCounting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCounting()
	var meter sync.WaitGroup
	meter.Go(func() { g.now.Load().meter.Run(counting) }) // those of later configurations count into the same
	meter.Go(func() { g.monitor(counting) })

	err := g.watch(ctx, failed)
	stopIntake()
	takers.Wait()
	stopAnswering()
	readers.Wait()
	runtime.Wait()
	stopCounting()
	meter.Wait()
	return errors.Join(err, runErr)
}

// lookForOwner logs how to become the owner, if there is none.
func (g *Gateway) lookForOwner(ctx context.Context) {
	code, err := g.ownerCode(ctx)
	if err != nil {
		g.env.Log.Error("can't read the owner", "err", err)
	} else if code != "" {
		g.env.Log.Warn("no owner yet: send this code to the bot in a direct message",
			"code", code)
	}
}

// ownerCode returns the code that makes its sender the owner; empty if there is an owner or no bot.
func (g *Gateway) ownerCode(ctx context.Context) (string, error) {
	if !g.bots {
		return "", nil
	}
	return g.runtime.OwnerCode(ctx)
}

// watch returns when ctx ends or the gateway can't continue. A platform that fails permanently is logged, and told to the owners,
// who can have a direct chat on another one. The others continue. Without its web chat a gateway can't be reached by commands and probes either, so that failure ends
// it.
func (g *Gateway) watch(ctx context.Context, failed <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			g.env.Log.Error("a connector has stopped permanently", "err", err)
			if errors.Is(err, web.ErrEnded) {
				return err
			}
			if told := g.runtime.TellOwners(ctx, errorKey("stopped", err, time.DateOnly), "owner.stopped", "reason", err); told != nil {
				g.env.Log.Warn("the owners can't be told about a connector that has stopped", "err", told)
			}
		}
	}
}
