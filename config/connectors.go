package config

import "time"

// Connectors lists the chat platforms.
type Connectors struct {
	// Discord: create an application at https://discord.com/developers and copy the token from its Bot page.
	Discord Discord `yaml:"discord"`
	// Telegram: send /newbot to @BotFather and copy the token from its reply.
	Telegram Telegram `yaml:"telegram"`
}

// Discord configures the bot on Discord.
type Discord struct {
	// auto = on if there is a token; true = required: fail to start without a token; false = off.
	Enabled *bool `yaml:"enabled"`
	// The bot's token.
	Token Secret `yaml:"token" default:"${env:DISCORD_TOKEN:-}"`
	// Another URL for Discord's API, for tests and proxies. Empty = Discord.
	APIURL string `yaml:"api_url"`
	// Request rates. Discord's own rate limits take precedence; higher rates lead to pauses.
	Limits DiscordLimits `yaml:"limits"`
	// After a short restart or outage, Discord delivers the missed messages. After a longer one, messages up to this age are
	// fetched and answered: at most 24h, 0s = none.
	CatchUp time.Duration `yaml:"catch_up" default:"1h"`
	// Whether to show a line per action call with the answer: compact = while it is being written; full = also afterwards; off.
	Progress Progress `yaml:"progress" default:"compact"`
	// How to send code blocks longer than two messages: message = as several messages, which can be searched and quoted;
	// file = as a file below the answer, which is easier to copy. While code is being written, at most half a message of it is
	// shown. If the chat rejects files, the code is sent as messages.
	LongCode LongCode `yaml:"long_code" default:"message"`
	// The maximum number of messages per answer. The rest of a longer answer is sent as a file, with a notice. 0 = no limit.
	MaxMessages int `yaml:"max_messages" default:"10"`
}

// DiscordLimits are request rates.
type DiscordLimits struct {
	// The minimum time between two edits of an answer in a channel.
	Edits time.Duration `yaml:"edits" default:"1.2s"`
	// Requests per second, over all channels.
	PerSecond int `yaml:"per_second" default:"45"`
}

// Telegram configures the bot on Telegram.
type Telegram struct {
	// auto = on if there is a token; true = required: fail to start without a token; false = off.
	Enabled *bool `yaml:"enabled"`
	// The bot's token, such as 123456789:AbC...
	Token Secret `yaml:"token" default:"${env:TELEGRAM_TOKEN:-}"`
	// The URL of your own Bot API server. Empty = Telegram.
	APIURL string `yaml:"api_url"`
	// Request rates. Exceeding Telegram's limits leads to pauses of up to hours.
	Limits TelegramLimits `yaml:"limits"`
	// Whether to show a line per action call with the answer: compact = while it is being written; full = also afterwards; off.
	Progress Progress `yaml:"progress" default:"compact"`
	// How to send code blocks longer than two messages: message = as several messages, which can be searched and quoted;
	// file = as a file below the answer, which is easier to copy. While code is being written, at most half a message of it is
	// shown. If the chat rejects files, the code is sent as messages.
	LongCode LongCode `yaml:"long_code" default:"message"`
	// The maximum number of messages per answer. The rest of a longer answer is sent as a file, with a notice. 0 = no limit.
	MaxMessages int `yaml:"max_messages" default:"10"`
	// If sending the last message of an answer fails (server error, lost connection, gateway crash), it is unknown whether it
	// arrived. resend = send it again after a pause, marked; it may appear twice. skip = don't send it again; the answer may be
	// missing, and the log reports it.
	Ambiguous Ambiguous `yaml:"ambiguous" default:"resend"`
}

// TelegramLimits are request rates.
type TelegramLimits struct {
	// The minimum time between two edits of an answer in a private chat.
	PrivateEdits time.Duration `yaml:"private_edits" default:"1.1s"`
	// The minimum time between two edits of an answer in a group.
	GroupEdits time.Duration `yaml:"group_edits" default:"3.5s"`
	// Requests per minute and group, including its topics. A fifth is reserved for new messages and final edits.
	GroupPerMinute int `yaml:"group_per_minute" default:"20"`
	// Requests per second, over all chats.
	PerSecond int `yaml:"per_second" default:"30"`
}
