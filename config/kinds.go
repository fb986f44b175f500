package config

// enum is a word out of a closed list.
type enum interface{ Words() []string }

// TurnRule says what a new message does to an answer that is being written.
type TurnRule string

// The rules of turns.
const (
	Supersede TurnRule = "supersede" // the new message ends the old answer
	Queue     TurnRule = "queue"     // the new message waits for its own answer
	Collect   TurnRule = "collect"   // all that wait get one answer together
)

func (TurnRule) Words() []string {
	return []string{string(Supersede), string(Queue), string(Collect)}
}

// EditRule says what an edited question means for its answer.
type EditRule string

// The rules for edits.
const (
	Revise   EditRule = "revise"   // the latest answer is rewritten in place
	Remember EditRule = "remember" // only what is remembered changes
)

func (EditRule) Words() []string { return []string{string(Revise), string(Remember)} }

// Generation says in which form a model answers.
type Generation string

// The forms of an answer.
const (
	GenerateNative Generation = "native" // text, and calls of tools
	GenerateXML    Generation = "xml"    // text with tags around its parts
)

func (Generation) Words() []string { return []string{string(GenerateNative), string(GenerateXML)} }

// DirectAccess says who is answered in direct chats.
type DirectAccess string

// Who is answered in direct chats.
const (
	DirectPairing   DirectAccess = "pairing"
	DirectOpen      DirectAccess = "open"
	DirectAllowlist DirectAccess = "allowlist"
	DirectOff       DirectAccess = "off"
)

func (DirectAccess) Words() []string {
	return []string{string(DirectPairing), string(DirectOpen), string(DirectAllowlist), string(DirectOff)}
}

// GroupAccess says what is answered in groups.
type GroupAccess string

// What is answered in groups.
const (
	GroupMentionOnly GroupAccess = "mention_only" // what is addressed to the agent
	GroupAmbient     GroupAccess = "ambient"      // that, and what seems to be meant for it
	GroupOff         GroupAccess = "off"
)

func (GroupAccess) Words() []string {
	return []string{string(GroupMentionOnly), string(GroupAmbient), string(GroupOff)}
}

// BotAccess says which bots are answered.
type BotAccess string

// The rules for bots.
const (
	BotsOff     BotAccess = "off"
	BotsMention BotAccess = "mention"
)

func (BotAccess) Words() []string { return []string{string(BotsOff), string(BotsMention)} }

// Provider names who runs a model.
type Provider string

// The providers.
const (
	ProviderAuto   Provider = "" // ProviderOpenAI when it is on, else ProviderDemo
	ProviderOpenAI Provider = "openai"
	ProviderDemo   Provider = "demo" // built in, answers without a model
)

func (Provider) Words() []string {
	return []string{string(ProviderAuto), string(ProviderOpenAI), string(ProviderDemo)}
}

// LogLevel is the least important kind of line that is written.
type LogLevel string

func (LogLevel) Words() []string { return []string{"debug", "info", "warn", "error"} }

// LogFormat is how log lines look.
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

// Account is a person or chat on a platform, such as "telegram:123456789".
// It is text because the platforms' numbers have up to 64 bits, more than many
// readers of YAML and JSON keep.
type Account string

// Chat is a group or channel on a platform, such as "telegram:-1001234567890",
// text for the same reason.
type Chat string

// World is a server on a platform, such as "discord:80351110224678912".
type World string

// Role is what some members of a server are, such as "discord:80351110224678912".
type Role string
