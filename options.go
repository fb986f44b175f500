package parley

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"

	stores "parley/backends"
	"parley/config"
	"parley/connectors"
	"parley/connectors/web"
	"parley/connectors/web/certificates"
	"parley/core/action"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/storage"
	"parley/progressive"
)

// Env holds the parts that a program adds to the gateway that it embeds, in addition to the configuration. All fields
// are optional; the zero value is that of a program without parts of its own.
type Env struct {
	Log *slog.Logger // nil logs nothing
	// Level, if set, is the level of Log: the gateway sets it to log.level, also after a reload.
	Level *slog.LevelVar
	// Load reads the configuration again, for [Gateway.Reload]. Nil: it can't be reloaded.
	Load func() (config.Config, error)
	// Reloaded, if set, is called at the end of each reload, with its error.
	Reloaded func(error)

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

	// Parser reads untrusted documents, web pages and images. Nil leaves documents and web pages unread, and images without
	// thumbnails. [parley/media/parser.Command] makes one that reads each in a process of its own.
	Parser Parser
	// Setup serves the page /setup of the web chat to browsers on this machine; nil: there is none.
	Setup http.Handler
	// Listen opens the address of the web chat; nil is net.Listen.
	Listen func(network, address string) (net.Listener, error)
	// Authority issues the certificates of web.tls; the zero value is Let's Encrypt.
	Authority certificates.Authority
	// Dial opens connections; nil connects directly, or through the proxy of the environment.
	Dial connectors.Dialer

	// Wrap wraps the runtime's store; tests use it to simulate crashes.
	Wrap func(storage.Store) storage.Store
	// OpenStore opens the store; nil is [stores.Open]. Tests use it to simulate failures.
	OpenStore func(ctx context.Context, address string, o stores.Options) (stores.Store, error)
}

// Parser reads untrusted files: PDF, Word, PowerPoint, Excel and OpenDocument files, archives, HTML pages and images. Its methods end
// when ctx does, and are safe for concurrent use.
type Parser interface {
	// Text returns the text of a document.
	Text(ctx context.Context, document []byte) (string, error)
	// Page returns the title and the main text of an HTML page. The media type can name an encoding.
	Page(ctx context.Context, page []byte, mediaType string) (title, body string, err error)
	// Thumbnail returns a small JPEG of an image.
	Thumbnail(ctx context.Context, picture []byte) ([]byte, error)
}

// documents returns the function that extracts the text of documents, or nil.
func (e Env) documents() func(context.Context, []byte) (string, error) {
	if e.Parser == nil {
		return nil
	}
	return e.Parser.Text
}

// thumbnails returns the function that makes thumbnails, or nil.
func (e Env) thumbnails() func(context.Context, []byte) ([]byte, error) {
	if e.Parser == nil {
		return nil
	}
	return e.Parser.Thumbnail
}

// Connector is a platform of the embedding program. If it is an [io.Closer], it is closed at the end.
type Connector struct {
	connectors.Connector
	// Budgets limit the requests of its sinks, by kind of scope (see [progressive.Scope]). A kind without one is not limited.
	Budgets map[string]progressive.Budget
}

// filled returns e with defaults in place of empty fields.
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
		e.OpenStore = stores.Open
	}
	return e
}

// providerEmbedded is the provider of models of the embedding program.
const providerEmbedded config.Provider = "embedded"

// applyTo returns cfg without the models that the program replaces, so that the rest sees only those that are used.
func (e Env) applyTo(cfg config.Config) config.Config {
	if e.Models.Large != nil {
		cfg.Models.Large.Provider, cfg.Models.Large.Vision = providerEmbedded, &e.Models.LargeVision
		cfg.Models.Chat = nil
	}
	for _, s := range slotsOf(&cfg.Models, &e.Models) {
		if s.replaced {
			*s.config = config.Slot{Provider: providerEmbedded, Price: s.config.Price} // the price is that of the program's model
		}
	}
	return withVision(cfg)
}

// allPlatforms returns the connectors of the configuration and of the program.
func allPlatforms(cfg config.Config, deps func(name string) connectors.Deps, env Env) ([]Connector, error) {
	all := append(platforms(cfg, deps), env.Connectors...)
	if err := checkNames("connector", all, Connector.Name, "", web.Name); err != nil {
		return nil, err
	}
	return all, nil
}

// checkNames rejects a name that is one of taken, or that two of all have.
func checkNames[T any](kind string, all []T, name func(T) string, taken ...string) error {
	for _, e := range all {
		name := name(e)
		if slices.Contains(taken, name) {
			return nameError(kind, name)
		}
		taken = append(taken, name)
	}
	return nil
}

// nameError returns the error for a connector or plugin whose name is empty or taken.
func nameError(kind, name string) error {
	if name == "" {
		return errors.New("a " + kind + " has no name")
	}
	return fmt.Errorf("there are two %ss with the name %q; give one another name", kind, name)
}
