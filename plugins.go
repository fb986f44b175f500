package parley

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"parley/config"
	"parley/connectors"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/core/storage"
	"parley/core/text"
	"parley/internal/settings"
	"parley/plugins/tasks"
)

// initLimit bounds the time for all plugins together to start: the start of the gateway waits for them.
const initLimit = 30 * time.Second

// inputs are the values that a plugin is made from. A plugin whose inputs a reload does not change stays the same.
type inputs []any

// equal reports whether two lists of inputs are the same.
func equal(a, b inputs) bool { return reflect.DeepEqual(a, b) }

// madePlugin is a plugin with its inputs.
type madePlugin struct {
	action.Plugin
	from inputs
	same bool // as in the earlier configuration
}

// pluginBuilder collects the plugins of a configuration. It takes those that stay the same from an earlier one.
type pluginBuilder struct {
	env    Env
	before []madePlugin // of the earlier configuration; may be empty
	all    []madePlugin
	err    error // of the first plugin that can't be made
}

// add adds the plugin of a name. It calls build only if there was none with these inputs before.
func (b *pluginBuilder) add(name string, from inputs, build func() (action.Plugin, error)) {
	i := slices.IndexFunc(b.before, func(m madePlugin) bool { return m.Name == name })
	if i >= 0 && equal(b.before[i].from, from) {
		b.all = append(b.all, madePlugin{b.before[i].Plugin, from, true})
		return
	}
	p, err := build()
	if err != nil && b.err == nil {
		b.err = err
	}
	b.all = append(b.all, madePlugin{Plugin: p, from: from})
}

// same reports whether a plugin is one of the earlier configuration.
func (b *pluginBuilder) same(name string) bool {
	return slices.ContainsFunc(b.all, func(m madePlugin) bool { return m.same && m.Name == name })
}

// addProgram adds the plugins of the embedding program, which always stay the same, and checks the names of all.
func (b *pluginBuilder) addProgram() error {
	for _, p := range b.env.Plugins {
		b.all = append(b.all, madePlugin{Plugin: p, same: b.before != nil})
	}
	return checkNames("plugin", b.all, func(p madePlugin) string { return p.Name }, "")
}

// plugins returns all as an agent of a type uses them.
func (b *pluginBuilder) plugins(agentType string) (all []action.Plugin) {
	for _, p := range b.all {
		all = append(all, p.For(agentType))
	}
	return all
}

// modelInputs returns the values that metered models are made from.
func modelInputs(cfg config.Config) inputs {
	return inputs{cfg.Models, cfg.Providers, cfg.Limits, cfg.Timezone, cfg.Web.Public, cfg.Agent.Generation}
}

// asksForm reports whether models answer in the form of tags: because the configuration says so, or because a template asks for it.
func asksForm(cfg config.Config, env Env) bool {
	var plugins []action.Plugin
	for _, p := range env.Plugins {
		plugins = append(plugins, p.For(cfg.Agent.Type))
	}
	return cfg.Agent.Generation.XML() || prompt.AsksForm(plugins, settings.Agent(cfg).Templates)
}

// promptCommands returns the commands of plugins that all known users of a platform can give.
func (g *Gateway) promptCommands(platform string) (all []chat.CommandSpec) {
	e := g.now.Load()
	known := action.TurnContext{Room: chat.Room{Connector: platform, Kind: chat.Group}, Allowed: true}
	for _, c := range prompt.CommandsOf(e.plugins.plugins(e.cfg.Agent.Type), known, g.env.Log) {
		all = append(all, chat.CommandSpec{Name: chat.CommandName(c.Name), Description: c.Description, Options: c.Options})
	}
	return all
}

// initPlugins calls Init of each new plugin that has one, in order. The first error ends the start of the gateway, or the reload.
func (g *Gateway) initPlugins(e *edition) error {
	ctx, cancel := context.WithTimeout(context.Background(), initLimit)
	defer cancel()
	for _, p := range e.plugins.all {
		if p.Init == nil || p.same {
			continue
		}
		err := p.Init(ctx, action.Services{
			Log: g.env.Log.With("plugin", p.Name), State: pluginState{g.backends.memo, p.Name}, Models: e.models.Models,
			Say: g.runtime.Say, TellOwners: g.runtime.TellOwners, Task: func(ctx context.Context, t chat.Task) (chat.Accepted, error) { return g.runtime.ProcessMessage(ctx, t) }, Update: g.runtime.Update, Title: g.title,
		})
		if err != nil {
			return fmt.Errorf("start the plugin %s: %w", p.Name, err)
		}
	}
	return nil
}

// pluginState is the part of the store's state that belongs to one plugin.
type pluginState struct {
	store  connectors.SharedState
	plugin string
}

// Keep implements [action.State].
func (s pluginState) Keep(ctx context.Context, name, value string) error {
	return s.store.Keep(ctx, s.key(name), text.Clean(value))
}

// Kept implements [action.State].
func (s pluginState) Kept(ctx context.Context, name string) (string, error) {
	return s.store.Kept(ctx, s.key(name))
}

// Swap implements [action.State].
func (s pluginState) Swap(ctx context.Context, name, old, value string) (bool, error) {
	return s.store.Swap(ctx, s.key(name), text.Clean(old), text.Clean(value))
}

func (s pluginState) key(name string) string { return pluginKey(s.plugin, name) }

// pluginKey quotes the plugin's name, so that no two plugins share a key.
func pluginKey(plugin, name string) string {
	return fmt.Sprintf("plugin %q %s", plugin, text.Clean(name))
}

// newTasks returns the schedules and hooks of the configuration as a plugin.
func newTasks(cfg config.Config, env Env, store storage.Store) (*tasks.Tasks, error) {
	o := tasks.Options{Store: store, Quiet: cfg.Quiet(), Log: env.Log}
	for _, s := range cfg.Schedules {
		times, err := cfg.Times(s)
		if err != nil {
			return nil, fmt.Errorf("the schedule %s: %w", s.Name, err)
		}
		o.Schedules = append(o.Schedules, tasks.Schedule{
			Name: s.Name, Times: times, Spec: s.Cron + " " + cmp.Or(s.Timezone, cfg.Timezone), Jitter: s.Jitter,
			Once: s.Missed == config.MissedOnce, Drop: s.Quiet == config.QuietDrop, What: taskOf(s.Room, s.Prompt, s.Text),
		})
	}
	for _, h := range cfg.Hooks {
		o.Hooks = append(o.Hooks, tasks.Hook{
			Name: h.Name, Secret: h.Secret.Reveal(), PerMinute: h.PerMinute, Drop: h.Quiet == config.QuietDrop, What: taskOf(h.Room, h.Prompt, h.Text),
		})
	}
	for _, m := range cfg.Models.Chat {
		if m.Token != "" {
			o.Agents = append(o.Agents, tasks.Agent{Name: m.Name, Token: m.Token.Reveal()})
		}
	}
	return tasks.New(o), nil
}

// taskOf returns the task of a schedule or hook: to send a text, or to let the agent act on a prompt.
func taskOf(room config.Place, prompt, text string) tasks.What {
	return tasks.What{Room: string(room), Text: cmp.Or(text, prompt), Speak: text != ""}
}
