package parley

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"parley/config"
	"parley/connectors/web"
	"parley/connectors/web/identity"
	"parley/core"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/quota"
	"parley/core/schedule"
	"parley/internal/admin"
	"parley/internal/schema"
	"parley/internal/settings"
	"parley/plugins/tasks"
)

// An edition is the part of a gateway that follows from its configuration. It does not change: a reload replaces it as a
// whole, so no part needs to know which keys have changed. Parts that a reload does not change, such as an MCP server, are the
// same in the next edition.
type edition struct {
	cfg     config.Config // the values in effect
	models  *models
	meter   *quota.Meter
	tasks   *tasks.Tasks
	plugins *pluginBuilder
	site    *identity.Site // verifies tokens of visitors with an account; nil without accounts
	metered inputs         // the inputs of models and meter
}

// newEdition makes the parts that follow from cfg, and takes those that stay the same from before, which is nil at the
// start. It makes no request.
func (g *Gateway) newEdition(cfg config.Config, before *edition) (*edition, error) {
	if err := requirePrices(cfg); err != nil {
		return nil, err
	}
	e := &edition{cfg: cfg, metered: modelInputs(cfg), plugins: &pluginBuilder{env: g.env}}
	if before != nil {
		e.plugins.before = before.plugins.all
	}
	if before != nil && equal(before.metered, e.metered) {
		e.models, e.meter = before.models, before.meter
	} else {
		e.models = newModels(cfg, g.env)
		limits := settings.DayLimits(cfg)
		if e.meter = quota.NewMeter(limits, g.backends.store, g.env.Log); before != nil {
			e.meter = before.meter.With(limits)
		}
		emit := func(event event.Event) { g.runtime.Emit(event) } // g.runtime is set later; no model is called before Run
		names := tariffs(cfg, e.models.Models)
		e.models.Models = e.meter.Models(event.Models(e.models.Models, names, emit), names) // everything from here on gets models whose calls are counted
	}
	var err error
	if e.site, err = accounts(cfg.Web.Accounts); err != nil {
		return nil, err
	}
	for _, w := range cfg.Warnings {
		g.env.Log.Warn("part of the configuration has no effect", "what", w)
	}
	if err := e.plugins.addConfigured(cfg, g.backends.store, e.meter, e.models.Models); err != nil {
		return nil, err
	}
	return e, g.addTasks(e, before)
}

// addTasks adds the schedules and hooks, and the plugins of the program.
func (g *Gateway) addTasks(e, before *edition) (err error) {
	if e.tasks, err = newTasks(e.cfg, g.env, g.backends.store); err != nil {
		return err
	}
	e.plugins.add(tasks.Name, inputs{e.cfg.Schedules, e.cfg.Hooks, e.cfg.Initiative, e.cfg.Timezone, e.cfg.Models.Chat}, func() (action.Plugin, error) { return e.tasks.Plugin(), nil })
	if e.plugins.same(tasks.Name) {
		e.tasks = before.tasks
	}
	e.plugins.add("admin", nil, func() (action.Plugin, error) { return operators{gateway: g, edition: e}.plugin(), nil })
	return e.plugins.addProgram()
}

// runtimeConfig returns the configuration of the runtime for e.
func (g *Gateway) runtimeConfig(e *edition) core.Config {
	cfg, m := e.cfg, e.models.Models
	hold := restoredHold{memo: g.backends.memo, log: g.env.Log, tell: func(ctx context.Context, key, text string) error { return g.runtime.TellOwners(ctx, key, text) }}
	return core.Config{
		Agent: settings.Agent(cfg), Owner: g.owner, Store: g.backends.store, Tracker: g.backends.tracker, Bus: g.backends.bus,
		Models: m, Meter: e.meter, Parallel: cfg.Limits.Parallel, Total: cfg.Limits.ParallelTotal,
		Plugins: hold.wrap(e.plugins.plugins(cfg.Agent.Type)), Observers: g.observers(), Trace: g.monitoring.traces.Root, Schema: schema.Compile, Open: g.open, Signal: g.signal, About: g.about(e),
		Reader: g.reader(e), Fetch: g.fetch, ReadLinks: cfg.Agent.ReadLinks, Generation: generation(cfg.Agent), Turns: turns(cfg), Access: settings.Access(cfg),
		Approval: cfg.Turns.Approval, Zone: cfg.Zone(), Recall: settings.Recall(cfg), Retention: schedule.Retention(cfg.Retention), Grace: cfg.Shutdown, Log: g.env.Log, Pseudonym: g.pseudonym, Memo: g.backends.memo, FileLink: g.fileAddress, Audit: g.audit,
		OperatorsPage: func(ctx context.Context) (bool, error) { return admin.Reachable(ctx, g.backends.memo) },
		Visitor: func(ctx context.Context, account chat.EntityID) (chat.EntityID, error) {
			return web.OpenedBy(ctx, g.backends.store, account)
		},
	}
}

// errNoSource means that the embedding program has not set Env.Load.
var errNoSource = errors.New("this gateway has no configuration file to reload")

// Reload reads the configuration again with Env.Load and applies it, without dropping a connection or an answer: answers in progress
// finish with the configuration that they began with. It returns the changed keys that need a restart; they keep their
// values until then.
//
// An invalid configuration changes nothing. Reload returns the error, and it is logged, shown by /readyz without
// details, and sent to the owners. Reload is safe for concurrent use.
func (g *Gateway) Reload(ctx context.Context) (needRestart []string, err error) {
	if g.env.Load == nil {
		return nil, errNoSource
	}
	g.reloading.Lock()
	defer g.reloading.Unlock()
	needRestart, err = g.load(ctx)
	if g.broken.Store(err != nil); err != nil {
		err = g.rejected(context.WithoutCancel(ctx), err)
	}
	return needRestart, err
}

// load reads the configuration and applies it. After an error nothing has changed. It requires the lock.
func (g *Gateway) load(ctx context.Context) (needRestart []string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), initLimit) // a caller that leaves makes no configuration invalid
	defer cancel()
	if g.env.Reloaded != nil {
		defer func() { g.env.Reloaded(err) }()
	}
	cfg, err := g.env.Load()
	if err == nil {
		needRestart, err = g.apply(ctx, cfg)
	}
	if err != nil {
		return nil, err
	}
	g.env.Log.Info("the configuration was reloaded")
	if len(needRestart) > 0 {
		g.env.Log.Warn("these changed keys need a restart", "keys", strings.Join(needRestart, ", "))
	}
	return needRestart, nil
}

// apply replaces the edition. After an error nothing has changed.
func (g *Gateway) apply(ctx context.Context, cfg config.Config) (needRestart []string, err error) {
	before := g.now.Load()
	cfg, needRestart = g.env.applyTo(cfg).After(before.cfg)
	next, err := g.newEdition(cfg, before)
	if err != nil {
		return nil, err
	}
	replaced := next.models != before.models
	if err = g.initPlugins(next); err == nil {
		if err = before.meter.Save(ctx); err != nil { // new limits count the usage so far
			err = fmt.Errorf("store the usage of models: %w", err)
		}
	}
	if err == nil {
		err = g.runtime.Reload(g.runtimeConfig(next), next.plugins.same, func() {
			if replaced {
				_ = before.models.close() // only idle connections remain
			}
		})
	}
	if err != nil {
		if replaced {
			_ = next.models.close()
		}
		return nil, settings.InPlace(cfg, err)
	}
	g.now.Store(next)
	g.web.Reload(g.webOptions(next))
	g.setLevel(cfg)
	return needRestart, nil
}

// rejected reports that a changed configuration is invalid, and returns err.
func (g *Gateway) rejected(ctx context.Context, err error) error {
	g.env.Log.Error("the changed configuration is invalid, so the earlier one stays in effect", "err", err)
	first, _, more := strings.Cut(err.Error(), "\n")
	if more {
		first += " (the log has the rest)"
	}
	text := "My configuration was changed, but it is invalid, so I continue with the earlier one: " + first
	if told := g.runtime.TellOwners(ctx, errorKey("reload", err, "2006-01-02T15"), text); told != nil {
		g.env.Log.Warn("the owners can't be told about the invalid configuration", "err", told)
	}
	return err
}

// errorKey returns the key of a notice about err, which all gateways together send once in each period: a layout of times.
func errorKey(kind string, err error, period string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(err.Error())) // never fails
	return fmt.Sprintf("%s/%x/%s", kind, sum.Sum64(), time.Now().UTC().Format(period))
}

// brokenText returns the state of the configuration for /readyz, which can be public; "" if it is valid.
func (g *Gateway) brokenText() string {
	if g.broken.Load() {
		return "the changed configuration is invalid, so the earlier one stays in effect"
	}
	return ""
}

// setLevel sets the level of the log, if the program lets the gateway do so.
func (g *Gateway) setLevel(cfg config.Config) {
	if g.env.Level != nil {
		_ = g.env.Level.UnmarshalText([]byte(cfg.Log.Level)) // the configuration has validated it
	}
}
