package parley

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/backends/redis"
	"parley/backends/sqlite"
	"parley/config"
	"parley/connectors"
	"parley/core/llm"
	"parley/core/prompt"
)

// Finding is what [Check] found out about one part of the configuration.
type Finding struct {
	Part  string // as config.yaml calls it
	OK    bool
	Doubt bool   // it works, but perhaps not as it is meant to
	Text  string // what is there, or what is wrong and what to do
}

// Check tries what cfg describes for real, as far as that disturbs nobody: it opens the store unless a running gateway
// has it, asks Redis, has the model write one token, asks the platforms about the bots, and looks whether anybody is
// answered there. A part may take twenty seconds.
func Check(ctx context.Context, cfg config.Config, env Env) []Finding {
	env = env.filled()
	models := newModels(cfg, env)
	defer func() { _ = models.close() }() // only idle connections
	parts := []part{
		{"agent", func(context.Context) (string, error) { return checkAgent(cfg, env) }},
		{"store", func(ctx context.Context) (string, error) { return checkStore(ctx, cfg) }},
		{"shared", func(ctx context.Context) (string, error) { return checkShared(ctx, cfg, env) }},
		{"web", func(ctx context.Context) (string, error) { return checkWeb(ctx, cfg, env) }},
	}
	parts = append(parts, models.checks...)
	on := platforms(cfg, nil, env)
	for _, p := range on {
		if c, ok := p.Connector.(connectors.Checker); ok {
			parts = append(parts, part{"connectors." + p.Name(), func(ctx context.Context) (string, error) {
				return checkPlatform(ctx, c, allEars(cfg.Access, p.Name()))
			}})
		}
	}
	if len(on) > 0 {
		parts = append(parts, part{"owner", func(ctx context.Context) (string, error) { return checkOwner(ctx, cfg) }})
	}
	var all []Finding
	for _, p := range parts {
		all = append(all, p.try(ctx))
	}
	return all
}

// part is checked by a function that fails with a [warning] where it is not sure that something is wrong.
type part struct {
	name  string
	check func(context.Context) (string, error)
}

type warning string

func (d warning) Error() string { return string(d) }

func (p part) try(ctx context.Context) Finding {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	text, err := p.check(ctx)
	if err != nil {
		_, doubted := errors.AsType[warning](err)
		return Finding{Part: p.name, OK: doubted, Doubt: doubted, Text: err.Error()}
	}
	return Finding{Part: p.name, OK: true, Text: text}
}

// checkAgent reads the templates, as the gateway does at its start.
func checkAgent(cfg config.Config, env Env) (string, error) {
	plugins, err := pluginsFor(cfg, env, nil, llm.Models{})
	if err != nil {
		return "", err
	}
	agent := newAgent(cfg)
	if err := prompt.CheckTemplates(plugins, agent.Templates); err != nil {
		return "", inPlace(cfg, err)
	}
	text := agent.Name
	if cfg.Agent.Character != "" {
		text += " of " + cfg.Agent.Character
	}
	if n := len(agent.Character.Knowledge); n > 0 {
		text += fmt.Sprintf(", with %d knowledge texts", n)
	}
	return text, nil
}

func checkStore(ctx context.Context, cfg config.Config) (string, error) {
	path := strings.TrimPrefix(cfg.Store.Reveal(), "sqlite:")
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	var used *sqlite.InUseError
	switch {
	case errors.As(err, &used):
		return fmt.Sprintf("%s is in use by a running gateway (%s)", path, used.Holder), nil
	case err != nil:
		return "", err
	}
	if err := store.Close(); err != nil {
		return "", fmt.Errorf("close %s: %w", path, err)
	}
	return path + " is writable", nil
}

func checkShared(ctx context.Context, cfg config.Config, env Env) (string, error) {
	if cfg.Shared.Scheme() == "inmem" {
		return "in memory (for a single process)", nil
	}
	shared, err := redis.Open(cfg.Shared.Reveal(), redis.Options{Dial: env.Dial, Log: env.Log})
	if err != nil {
		return "", err
	}
	defer shared.Close()
	if err := shared.Ping(ctx); err != nil {
		return "", fmt.Errorf("%s does not answer: %w; start Redis there, or set shared: \"inmem:\" for a single process", cfg.Shared, err)
	}
	return cfg.Shared.String() + " answers", nil
}
