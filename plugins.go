package parley

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/config"
	"parley/connectors"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/storage"
	"parley/core/text"
	"parley/internal/settings"
)

// initLimit bounds how long all plugins together may take to start: the start of the gateway waits for them.
const initLimit = 30 * time.Second

// allPlugins returns the plugins of the configuration, more, and those of the program, in this order. Without a store
// it is for checks, which run nothing.
func allPlugins(cfg config.Config, env Env, store storage.Store, meter *quota.Meter, models llm.Models, more ...action.Plugin) ([]action.Plugin, error) {
	plugins, err := pluginsFor(cfg, env, store, meter, models)
	if err != nil {
		return nil, err
	}
	plugins = slices.Concat(plugins, more, env.Plugins)
	for i, p := range plugins {
		plugins[i] = p.For(cfg.Agent.Type)
	}
	return plugins, checkNames("plugin", plugins, func(p action.Plugin) string { return p.Name }, "")
}

// asksForm reports whether models answer in the form of tags: because the configuration says so, or because a template asks for it.
func asksForm(cfg config.Config, env Env) bool {
	var plugins []action.Plugin
	for _, p := range env.Plugins {
		plugins = append(plugins, p.For(cfg.Agent.Type))
	}
	return cfg.Agent.Generation == config.GenerateXML || prompt.AsksForm(plugins, settings.Agent(cfg).Templates)
}

// initPlugins calls Init of each plugin that has one, in order. The first error ends the start of the gateway.
func (g *Gateway) initPlugins(plugins []action.Plugin) error {
	ctx, cancel := context.WithTimeout(context.Background(), initLimit)
	defer cancel()
	for _, p := range plugins {
		if p.Init == nil {
			continue
		}
		err := p.Init(ctx, action.Services{
			Log: g.env.Log.With("plugin", p.Name), State: pluginState{g.backends.memo, p.Name}, Models: g.models.Models,
			Say: g.runtime.Say, TellOwners: g.runtime.TellOwners, Task: func(ctx context.Context, t chat.Task) (chat.Accepted, error) { return g.runtime.ProcessMessage(ctx, t) },
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
