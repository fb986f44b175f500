package parley

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"

	"parley/backends/sqlite"
	"parley/config"
	"parley/connectors"
	"parley/connectors/web"
	"parley/core/action"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/storage"
	"parley/progressive"
)

// Env is what a program gives to the gateway that it embeds, in addition to the configuration. Every field is optional.
type Env struct {
	Log *slog.Logger // nil logs nothing

	// Plugins are added to those of the configuration. A name that is used twice is an error.
	Plugins []action.Plugin
	// Connectors are added to those of the configuration, in the same way.
	Connectors []Connector
	// Models replace those of the configuration one by one; those that are nil do not. They count towards the limits. LargeVision
	// is about Large.
	Models llm.Models
	// ModelName names Models.Large in the log and for /model.
	ModelName string
	// Observers receive events, as those of plugins do.
	Observers []event.Observer

	// PDF extracts the text of untrusted documents; nil leaves PDFs unread.
	PDF func(ctx context.Context, document []byte) (string, error)
	// Listen opens the address of the web chat; nil is net.Listen.
	Listen func(network, address string) (net.Listener, error)
	// Dial opens connections; nil connects directly, or through the proxy of the environment.
	Dial connectors.Dialer
	Rand *rand.Rand // jitter; nil is the global source

	// Wrap wraps the runtime's store; tests use it to simulate crashes.
	Wrap func(storage.Store) storage.Store
	// OpenStore opens the store; nil is sqlite.Open. Tests use it to simulate failures.
	OpenStore func(ctx context.Context, path string, o sqlite.Options) (*sqlite.Store, error)
}

// Connector is a platform of the embedding program. If it is an [io.Closer], it is closed at the end.
type Connector struct {
	connectors.Connector
	// Budgets limit the requests of its sinks, by kind of scope (see [progressive.Scope]). A kind without one is not limited.
	Budgets map[string]progressive.Budget
}

func (e Env) filled() Env {
	if e.Listen == nil {
		e.Listen = net.Listen
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	if e.Wrap == nil {
		e.Wrap = func(s storage.Store) storage.Store { return s }
	}
	if e.OpenStore == nil {
		e.OpenStore = sqlite.Open
	}
	return e
}

// providerEmbedded stands for a large model that the embedding program brings.
const providerEmbedded config.Provider = "embedded"

// applyTo returns cfg without the models that the program replaces.
func (e Env) applyTo(cfg config.Config) config.Config {
	m, slots := e.Models, &cfg.Models
	if m.Large != nil {
		slots.Large.Provider, slots.Large.Vision = providerEmbedded, m.LargeVision
	}
	for slot, replaced := range map[*config.Slot]bool{
		&slots.Small: m.Small != nil, &slots.Vision: m.Vision != nil, &slots.Transcription: m.Transcriber != nil,
		&slots.Image: m.Painter != nil, &slots.Embedding: m.Embedder != nil,
	} {
		if replaced {
			*slot = config.Slot{}
		}
	}
	return cfg
}

// allPlatforms returns the connectors of the configuration and of the program.
func allPlatforms(cfg config.Config, memo connectors.StateStore, env Env) ([]platform, error) {
	on := platforms(cfg, memo, env)
	names := map[string]bool{"": true, web.Name: true}
	for _, p := range on {
		names[p.Name()] = true
	}
	for _, c := range env.Connectors {
		name := c.Name()
		if names[name] {
			return nil, nameError("connector", name)
		}
		names[name] = true
		on = append(on, platform{c.Connector, c.Budgets})
	}
	return on, nil
}

// nameError explains why a connector or plugin can't have a name.
func nameError(kind, name string) error {
	if name == "" {
		return errors.New("a " + kind + " has no name")
	}
	return fmt.Errorf("there are two %ss with the name %q; give one another name", kind, name)
}
