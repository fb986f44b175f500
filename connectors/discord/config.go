package discord

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/connectors"
	"parley/internal/sections"
)

// Section describes connectors.discord.
func Section() sections.Section {
	snowflake := sections.ID{Pattern: `[0-9]{1,20}`, Example: "80351110224678912"}
	return sections.Section{
		Name: Name, Title: "Discord", Secret: "token", Values: new(Config),
		About:   "Discord: create an application at https://discord.com/developers and copy the token from its Bot page.",
		Account: snowflake, Chat: snowflake, World: snowflake, Role: snowflake,
	}
}

// Config configures the bot on Discord.
type Config struct {
	// The bot's token.
	Token sections.Secret `yaml:"token" default:"${env:DISCORD_TOKEN:-}"`
	// Another URL for Discord's API, for tests and proxies. Empty = Discord.
	APIURL string `yaml:"api_url"`
	// Into how many shards the bot's servers are divided: each is a connection to Discord, for at most 2,500 servers. auto = as
	// many as Discord recommends when the bot first connects, and more when Discord demands it.
	Shards *int `yaml:"shards"`
	// The servers whose members see the bot's slash commands. Empty = all servers, and direct messages. For tests.
	CommandGuilds []string `yaml:"command_guilds"`
	// The line about the bot that members see below its name, of up to 128 characters. Empty = none.
	Presence string `yaml:"presence"`
	// Where the answer to a mention opens a thread: ids of channels, ids of servers for all of their channels, or all. An id after a
	// minus sign is an exception. Empty = nowhere.
	Threads []string `yaml:"threads"`
	// Request rates. Discord's own rate limits take precedence; higher rates lead to pauses.
	Limits Limits `yaml:"limits"`
	// After a short restart or outage, Discord delivers the missed messages. After a longer one, messages up to this age are
	// fetched and answered: at most 24h, 0s = none.
	CatchUp            time.Duration `yaml:"catch_up" default:"1h"`
	connectors.Display `yaml:",inline"`
}

// Limits are request rates. Discord publishes only the bot's limit, 50 a second; a channel's limit comes from reports
// of users. The limits in its replies take precedence over both.
type Limits struct {
	// The minimum time between two edits of an answer in a channel.
	Edits time.Duration `yaml:"edits" default:"1.2s"`
	// Requests per second, over all channels.
	PerSecond int `yaml:"per_second" default:"45"`
}

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)

// Check implements [sections.Checker].
func (c *Config) Check(reject sections.Reject) {
	shape := tokenForm
	if c.APIURL != "" {
		shape = nil // another server may have tokens of another form
	}
	reject.Secret("token", c.Token, shape,
		"copy the whole token from the Bot page at discord.com/developers: three parts separated by dots, without the word Bot in front")
	reject.URL("api_url", c.APIURL)
	reject.Pace("limits.edits", c.Limits.Edits)
	reject.Rate("limits.per_second", c.Limits.PerSecond)
	c.Display.Check(reject)
	if utf8.RuneCountInString(c.Presence) > longestPresence {
		reject("presence", fmt.Sprintf("has more than %d characters", longestPresence), "shorten it; Discord allows no more")
	}
	for _, id := range c.Threads {
		if id != everywhere && snowflake(strings.TrimPrefix(id, "-")) == 0 {
			reject("threads", fmt.Sprintf("%q is not the id of a channel or server", id), "switch on Developer Mode in Discord, then right-click the channel and choose Copy Channel ID, or write all")
		}
	}
	for _, id := range c.CommandGuilds {
		if snowflake(id) == 0 {
			reject("command_guilds", fmt.Sprintf("%q is not the id of a server", id), "switch on Developer Mode in Discord, then right-click the server and choose Copy Server ID")
		}
	}
	if c.Shards != nil && (*c.Shards < 1 || *c.Shards > mostShards) {
		reject("shards", fmt.Sprintf("is not between 1 and %d", mostShards), "set auto, or one shard for each 1,000 servers")
	}
	if c.CatchUp < 0 || c.CatchUp > 24*time.Hour {
		reject("catch_up", "is not between 0s and 24h", "set the maximum age of missed messages, such as 1h, or 0s for none")
	}
}

const longestPresence = 128 // characters

var _ connectors.Settings = (*Config)(nil)

// Connect implements [connectors.Settings].
func (c *Config) Connect(d connectors.Deps) connectors.Connector { return New(*c, d) }

// everywhere stands for all channels in the list of those with threads.
const everywhere = "all"

// threadsIn reports whether answers in a channel open threads. A channel takes precedence over its server.
func (c *Config) threadsIn(channel, guild string) bool {
	for _, id := range []string{channel, guild, everywhere} {
		if slices.Contains(c.Threads, "-"+id) {
			return false
		}
		if slices.Contains(c.Threads, id) {
			return true
		}
	}
	return false
}

// mostInServers is the maximum number of messages of an answer in a server, where others read along: the rest is a file.
const mostInServers = 3

// in returns the display of answers in a server, or in direct messages if guild is empty.
func (c *Config) in(guild string) connectors.Display {
	d := c.Display
	if guild != "" && d.MaxMessages > mostInServers {
		d.MaxMessages = mostInServers
	}
	return d
}

// shards returns the number of shards, or 0 for auto.
func (c *Config) shards() int {
	if c.Shards == nil {
		return 0
	}
	return *c.Shards
}
