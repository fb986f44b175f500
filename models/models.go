// Package models describes a model provider for the catalog: its section of the configuration, which opens its
// models.
package models

import (
	"context"
	"log/slog"
	"net"

	"parley/models/wire"
)

// Settings are the values of a provider's section.
type Settings interface {
	// Open returns one of the provider's models without asking the provider anything.
	Open(Options) Model
}

// Options identify a model and its purpose.
type Options struct {
	Model     string
	MaxTokens int // of one answer; 0 leaves it to the provider
	Parameters
	URL, APIKey string // of a model that has its own address, instead of the provider's; see [sections.Section.Agents]
	Agent       Agent
	Name        string // the owner's name for the model
	// Provider is the provider's key, and Setting the key of the model's name, for errors.
	Provider, Setting string
	// Dial opens connections; nil uses the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger // nil discards it
}

// Parameters are those of each request. Providers that don't have one ignore it: the configuration refuses it before.
type Parameters struct {
	Temperature, TopP *float64 // nil leaves it to the provider
	Stop              []string // the answer ends before any of these
	Seed              *int
	Effort            string         // the amount of thinking, in the provider's words; empty leaves it to the provider
	ThinkingBudget    *int           // the maximum of tokens for thinking; 0 means none, and nil leaves it to the provider
	Extra             map[string]any // more keys of the body
}

// Agent are the options of an agent of the owner's own. History is also one of models whose provider stores conversations.
type Agent struct {
	Protocol   string   // ProtocolAGUI, or empty, or ProtocolAISDK
	History    string   // HistoryLast, or empty for the whole conversation
	Share      []string // the data about users for the agent
	SigningKey string   // signs requests; empty: unsigned
}

// The values of [Agent].
const (
	ProtocolAGUI  = "ag-ui"
	ProtocolAISDK = "ai-sdk"
	HistoryLast   = "last"
	ShareName     = "name"
	SharePlatform = "platform"
	ShareFiles    = "files"
	// ShareFileLinks gives addresses of files in place of their contents.
	ShareFileLinks = "file_links"
)

// Settings returns the names of settings for error texts, given the variables that hold the key and the address ("" for
// none).
func (o Options) Settings(key, url string) wire.Settings {
	in := func(field, variable string) string {
		field = "providers." + o.Provider + "." + field
		if variable == "" {
			return field
		}
		return field + " (" + variable + ")"
	}
	return wire.Settings{Model: o.Setting, Key: in("api_key", key), URL: in("base_url", url)}
}

// Model is a model of a provider. It also implements those of core/llm's interfaces that its provider's abilities name.
type Model interface {
	// Check tries the model and the features that it is used with, at the least cost. Its error names the remedy.
	Check(ctx context.Context, uses wire.Uses) (string, error)
	// CheckListed is for models whose smallest call costs too much to try.
	CheckListed(ctx context.Context) (string, error)
	// Reach tries the provider without a model.
	Reach(ctx context.Context) (string, error)
	// Close closes idle connections. Calls under way go on.
	Close() error
}
