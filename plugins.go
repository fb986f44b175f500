package parley

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"parley/config"
	"parley/connectors"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/storage"
	"parley/core/text"
	"parley/internal/settings"
	"parley/plugins/tasks"
)

// initLimit bounds the time for all plugins together to start: the start of the gateway waits for them.
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
			Say: g.runtime.Say, TellOwners: g.runtime.TellOwners, Task: func(ctx context.Context, t chat.Task) (chat.Accepted, error) { return g.runtime.ProcessMessage(ctx, t) }, Update: g.runtime.Update,
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

// observedEmbedder is an embedder that reports its requests to observers.
type observedEmbedder struct {
	llm.Embedder
	emit func(event.Event)
}

// Embed implements [llm.Embedder].
func (o observedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	begun := time.Now()
	o.emit(event.EmbeddingRequested{Texts: len(texts)})
	vectors, err := o.Embedder.Embed(ctx, texts)
	if err != nil {
		o.emit(event.EmbeddingFailed{Texts: len(texts), Duration: time.Since(begun), Err: err.Error()})
	} else {
		o.emit(event.EmbeddingCompleted{Texts: len(texts), Duration: time.Since(begun)})
	}
	return vectors, err
}

// observed returns e with events; a nil e stays nil, as it means that there is none.
func observed(e llm.Embedder, emit func(event.Event)) llm.Embedder {
	if e == nil {
		return nil
	}
	return observedEmbedder{e, emit}
}

// newTasks returns the schedules and hooks of the configuration as a plugin.
func newTasks(cfg config.Config, env Env, store storage.Store) (*tasks.Tasks, error) {
	o := tasks.Options{Store: store, Quiet: cfg.Initiative.Quiet(), Log: env.Log}
	for _, s := range cfg.Schedules {
		times, err := s.Times(cfg.Initiative)
		if err != nil {
			return nil, fmt.Errorf("the schedule %s: %w", s.Name, err)
		}
		o.Schedules = append(o.Schedules, tasks.Schedule{
			Name: s.Name, Times: times, Spec: s.Cron + " " + cmp.Or(s.Timezone, cfg.Initiative.Timezone), Jitter: s.Jitter,
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
