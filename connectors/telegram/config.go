package telegram

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"parley/connectors"
	"parley/internal/sections"
)

// Section describes connectors.telegram.
func Section() sections.Section {
	return sections.Section{
		Name: Name, Title: "Telegram", Secret: "token", Values: new(Config),
		About:   "Telegram: send /newbot to @BotFather and copy the token from its reply.",
		Account: sections.ID{Pattern: `-?[0-9]{1,20}`, Example: "123456789"},
		Chat:    sections.ID{Pattern: `-[0-9]{1,20}`, Example: "-1001234567890"},
	}
}

// Config configures the bot on Telegram.
type Config struct {
	// The bot's token, such as 123456789:AbC...
	Token sections.Secret `yaml:"token" default:"${env:TELEGRAM_TOKEN:-}"`
	// The URL of your own Bot API server. Empty = Telegram.
	APIURL string `yaml:"api_url"`
	// The text before a user's first message to the bot, of up to 512 characters. Empty = the one that is set at @BotFather.
	Description string `yaml:"description"`
	// The text in the bot's profile and in shared links to it, of up to 120 characters. Empty = as above.
	ShortDescription string `yaml:"short_description"`
	// The public https:// address of this gateway's web.listen, by web.tls or through a proxy. Telegram sends messages to paths that
	// begin with /telegram/ there, to any of several gateways. Empty = the gateway polls for messages, and needs no public address.
	// Switching loses no messages.
	WebhookURL string `yaml:"webhook_url"`
	// Show 👀 at a question while it is answered. That takes two more requests per answer.
	Reactions bool `yaml:"reactions"`
	// How an answer grows in a private chat. edits = in a message that is edited; drafts = as Telegram's own animated draft with a
	// Stop button, which becomes a message, with one notification, when the answer is complete. Groups always have edits.
	Streaming Streaming `yaml:"streaming" default:"edits"`
	// How answers are formatted. html = as text with styles; rich = with headings, tables, task lists, formulas and footnotes, and about
	// 32,000 characters per message. Apps from before July 2026 can't show rich messages and ask their users to update.
	Format Format `yaml:"format" default:"html"`
	// Request rates. Exceeding Telegram's limits leads to pauses of up to hours.
	Limits             Limits `yaml:"limits"`
	connectors.Display `yaml:",inline"`
	// If sending the last message of an answer fails (server error, lost connection, gateway crash), it is unknown whether it
	// arrived. resend = send it again after a pause, marked; it may appear twice. skip = don't send it again; the answer may be
	// missing, and the log reports it.
	Ambiguous Ambiguous `yaml:"ambiguous" default:"resend"`
}

// Streaming is the way that answers grow in private chats.
type Streaming string

// The possible values.
const (
	StreamEdits  Streaming = "edits"
	StreamDrafts Streaming = "drafts"
)

// Words returns the words of the configuration.
func (Streaming) Words() []string { return []string{string(StreamEdits), string(StreamDrafts)} }

// Format is the way that answers are formatted.
type Format string

// The possible values.
const (
	FormatHTML Format = "html"
	FormatRich Format = "rich"
)

// Words returns the words of the configuration.
func (Format) Words() []string { return []string{string(FormatHTML), string(FormatRich)} }

// Limits are the request rates that the connector keeps to. Telegram publishes no exact numbers.
type Limits struct {
	// The minimum time between two edits of an answer in a private chat.
	PrivateEdits time.Duration `yaml:"private_edits" default:"1.1s"`
	// The minimum time between two edits of an answer in a group.
	GroupEdits time.Duration `yaml:"group_edits" default:"3.5s"`
	// Requests per minute and group, including its topics. A fifth is reserved for new messages and final edits.
	GroupPerMinute int `yaml:"group_per_minute" default:"20"`
	// Requests per second, over all chats.
	PerSecond int `yaml:"per_second" default:"30"`
}

// Ambiguous defines the handling of the last message of an answer if it is unknown whether it arrived.
type Ambiguous string

// The possible values.
const (
	AmbiguousResend Ambiguous = "resend" // it is sent once more, marked
	AmbiguousSkip   Ambiguous = "skip"   // it is not sent again
)

// Words returns the words of the configuration.
func (Ambiguous) Words() []string { return []string{string(AmbiguousResend), string(AmbiguousSkip)} }

var configuredToken = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// Check implements [sections.Checker].
func (c *Config) Check(reject sections.Reject) {
	reject.Secret("token", c.Token, configuredToken, "copy the whole token from @BotFather: digits, a colon, letters")
	reject.URL("api_url", c.APIURL)
	reject.URL("webhook_url", c.WebhookURL)
	short := func(key, text string, longest int) {
		if utf8.RuneCountInString(text) > longest {
			reject(key, fmt.Sprintf("has more than %d characters", longest), "shorten it; Telegram allows no more")
		}
	}
	short("description", c.Description, longestDescription)
	short("short_description", c.ShortDescription, longestAbout)
	// A server of one's own also calls addresses in its network.
	if c.WebhookURL != "" && c.APIURL == "" && !strings.HasPrefix(c.WebhookURL, "https://") {
		reject("webhook_url", "does not begin with https://", "Telegram only calls addresses with a certificate; set web.tls, or use a proxy")
	}
	reject.Pace("limits.private_edits", c.Limits.PrivateEdits)
	reject.Pace("limits.group_edits", c.Limits.GroupEdits)
	reject.Rate("limits.group_per_minute", c.Limits.GroupPerMinute)
	reject.Rate("limits.per_second", c.Limits.PerSecond)
	c.Display.Check(reject)
}

var _ connectors.Settings = (*Config)(nil)

// Connect implements [connectors.Settings].
func (c *Config) Connect(d connectors.Deps) connectors.Connector { return New(*c, d) }
