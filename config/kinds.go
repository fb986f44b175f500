package config

// enum is a string type with a fixed set of values.
type enum interface{ Words() []string }

// TurnRule selects what a new message does to an answer in progress.
type TurnRule string

// The turn rules.
const (
	Supersede TurnRule = "supersede" // the new message stops the old answer
	Queue     TurnRule = "queue"     // the new message waits for its own answer
	Collect   TurnRule = "collect"   // all waiting messages get one answer
)

func (TurnRule) Words() []string {
	return []string{string(Supersede), string(Queue), string(Collect)}
}

// EditRule selects how an edited question affects its answer.
type EditRule string

// The edit rules.
const (
	Revise   EditRule = "revise"   // rewrite the latest answer in place
	Remember EditRule = "remember" // only update the stored message
)

func (EditRule) Words() []string { return []string{string(Revise), string(Remember)} }

// Generation selects the format of a model's answers.
type Generation string

// The answer formats.
const (
	GenerateNative Generation = "native" // text and tool calls
	GenerateXML    Generation = "xml"    // text with tags around its parts
)

func (Generation) Words() []string { return []string{string(GenerateNative), string(GenerateXML)} }

// DirectAccess selects who is answered in direct messages.
type DirectAccess string

// The direct message rules.
const (
	DirectPairing   DirectAccess = "pairing"
	DirectOpen      DirectAccess = "open"
	DirectAllowlist DirectAccess = "allowlist"
	DirectOff       DirectAccess = "off"
)

func (DirectAccess) Words() []string {
	return []string{string(DirectPairing), string(DirectOpen), string(DirectAllowlist), string(DirectOff)}
}

// GroupAccess selects what is answered in groups.
type GroupAccess string

// The group rules.
const (
	GroupMentionOnly GroupAccess = "mention_only" // messages addressed to the agent
	GroupAmbient     GroupAccess = "ambient"      // also messages that seem to be meant for it
	GroupOff         GroupAccess = "off"
)

func (GroupAccess) Words() []string {
	return []string{string(GroupMentionOnly), string(GroupAmbient), string(GroupOff)}
}

// BotAccess selects which bots are answered.
type BotAccess string

// The rules for bots.
const (
	BotsOff     BotAccess = "off"
	BotsMention BotAccess = "mention"
)

func (BotAccess) Words() []string { return []string{string(BotsOff), string(BotsMention)} }

// Provider is a model provider.
type Provider string

// The providers.
const (
	ProviderAuto   Provider = "" // ProviderOpenAI if it is enabled, else ProviderDemo
	ProviderOpenAI Provider = "openai"
	ProviderDemo   Provider = "demo" // built in, without a real model
)

func (Provider) Words() []string {
	return []string{string(ProviderAuto), string(ProviderOpenAI), string(ProviderDemo)}
}

// LogLevel is the minimum level of logged events.
type LogLevel string

func (LogLevel) Words() []string { return []string{"debug", "info", "warn", "error"} }

// LogFormat is the format of log lines.
type LogFormat string

// The formats. LogAuto is text on a terminal and JSON elsewhere.
const (
	LogAuto LogFormat = "auto"
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

func (LogFormat) Words() []string {
	return []string{string(LogAuto), string(LogText), string(LogJSON)}
}

// Account is a user or chat on a platform, such as "telegram:123456789". It is a string because the platforms' ids have
// up to 64 bits, more than many YAML and JSON parsers preserve.
type Account string

// Chat is a group or channel on a platform, such as "telegram:-1001234567890", a string for the same reason.
type Chat string

// World is a server on a platform, such as "discord:80351110224678912".
type World string

// Role is a role on a server, such as "discord:80351110224678912".
type Role string
