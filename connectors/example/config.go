package example

import (
	"time"

	"parley/connectors"
	"parley/internal/sections"
	"parley/progressive"
)

// Section describes connectors.example.
func Section() sections.Section {
	return sections.Section{
		Name: Name, Title: "Example", Secret: "token", Values: new(Config),
		About:   "Example, the platform that docs/add-a-platform.md adds.",
		Account: sections.ID{Pattern: `[a-z]{1,20}`, Example: "ada"},
		Chat:    sections.ID{Pattern: `[a-z]{1,20}`, Example: "lounge"},
	}
}

// Config configures the bot on Example.
type Config struct {
	// The bot's token.
	Token sections.Secret `yaml:"token" default:"${env:EXAMPLE_TOKEN:-}"`
	// The URL of the server.
	URL string `yaml:"url" default:"http://example.test"`
	// The minimum time between two edits of an answer.
	Edits time.Duration `yaml:"edits" default:"1s"`
}

// Check implements [sections.Checker].
func (c *Config) Check(reject sections.Reject) {
	reject.Secret("token", c.Token, nil, "copy the whole token")
	reject.URL("url", c.URL)
	reject.Pace("edits", c.Edits)
}

var _ connectors.Settings = (*Config)(nil)

// Connect implements [connectors.Settings].
func (c *Config) Connect(d connectors.Deps) connectors.Connector { return New(*c, d) }

// Budgets implements [connectors.Settings].
func (c *Config) Budgets() map[string]progressive.Budget {
	return map[string]progressive.Budget{
		roomScope: {N: 5, Per: 5 * time.Second, Reserve: 1, Pace: c.Edits}, // the server allows no more
	}
}
