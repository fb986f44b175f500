package config

// enum is a string type with a fixed set of values.
type enum interface{ Words() []string }

// TurnRule selects the effect of a new message on an answer in progress: supersede stops it, queue waits for its end,
// and collect lets all waiting messages get one answer.
type TurnRule string

// Words returns the allowed values.
func (TurnRule) Words() []string { return []string{"supersede", "queue", "collect", "steer"} }

// EditRule selects how an edited question affects its answer: revise rewrites the latest answer in place, remember only
// updates the stored message.
type EditRule string

// Words returns the allowed values.
func (EditRule) Words() []string { return []string{"revise", "remember"} }

// Generation selects the format of a model's answers: native is text and tool calls, xml is text with tags around its
// parts.
type Generation string

// The formats with tags.
const (
	GenerateXML   Generation = "xml"
	GenerateSteps Generation = "xml_steps" // plans step by step
)

// Words returns the allowed values.
func (Generation) Words() []string {
	return []string{"native", string(GenerateXML), string(GenerateSteps)}
}

// XML reports whether the model answers with tags.
func (g Generation) XML() bool { return g == GenerateXML || g == GenerateSteps }

// Side is a side of a page.
type Side string

// Words returns the allowed values.
func (Side) Words() []string { return []string{"right", "left"} }

// Recall selects how earlier messages are found.
type Recall string

// The kinds of recall that are treated specially.
const (
	RecallMeaning Recall = "meaning"
	RecallAll     Recall = "meaning_all"
	RecallOff     Recall = "off"
)

// Words returns the allowed values.
func (Recall) Words() []string {
	return []string{"words", string(RecallMeaning), string(RecallAll), string(RecallOff)}
}

// ByMeaning reports whether messages are embedded.
func (r Recall) ByMeaning() bool { return r == RecallMeaning || r == RecallAll }

// FactScope selects where facts about a person are used.
type FactScope string

// Words returns the allowed values.
func (FactScope) Words() []string { return []string{"room", "person", "everywhere"} }

// DirectAccess selects who is answered in direct messages.
type DirectAccess string

// The direct message rules that are treated specially.
const (
	DirectPairing DirectAccess = "pairing"
	DirectOpen    DirectAccess = "open"
)

// Words returns the allowed values.
func (DirectAccess) Words() []string {
	return []string{string(DirectPairing), string(DirectOpen), "allowlist", "off"}
}

// GroupAccess selects the messages in groups that are answered: mention_only is those addressed to the agent.
type GroupAccess string

// GroupAmbient also answers messages that seem to be meant for the agent.
const GroupAmbient GroupAccess = "ambient"

// Words returns the allowed values.
func (GroupAccess) Words() []string { return []string{"mention_only", string(GroupAmbient), "off"} }

// BotAccess selects which bots are answered.
type BotAccess string

// Words returns the allowed values.
func (BotAccess) Words() []string { return []string{"off", "mention"} }

// Provider is a model provider: one of these, or the key of a section of [Others].
type Provider string

// The providers.
const (
	ProviderAuto   Provider = "" // ProviderOpenAI if it is enabled, else ProviderDemo
	ProviderOpenAI Provider = "openai"
	ProviderDemo   Provider = "demo" // built in, without a real model
)

// LogLevel is the minimum level of logged events.
type LogLevel string

// Words returns the allowed values.
func (LogLevel) Words() []string { return []string{"debug", "info", "warn", "error"} }

// LogFormat is the format of log lines.
type LogFormat string

// The formats. LogAuto is text on a terminal and JSON elsewhere.
const (
	LogAuto LogFormat = "auto"
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Words returns the allowed values.
func (LogFormat) Words() []string {
	return []string{string(LogAuto), string(LogText), string(LogJSON)}
}

// Account is a user or chat on a platform, such as "telegram:123456789". It is a string because the platforms' ids have
// up to 64 bits, more than many YAML and JSON parsers preserve.
type Account string

// Member is an [Account], or a role on a server, such as "discord:role:80351110224678912".
type Member string

// Chat is a group or channel on a platform, such as "telegram:-1001234567890", a string for the same reason; or a server with all
// its channels, such as "discord:server:80351110224678912".
type Chat string

// Place is a group or channel, or an [Account], which stands for its direct chat with the agent.
type Place string

// Thinking is the display for users while a model reasons.
type Thinking string

// The values of [Thinking] that mean something here.
const (
	thinkingStatus Thinking = "status" // the default
	ThinkingFull   Thinking = "full"   // shows its reasoning, but not to the public
	ThinkingPublic Thinking = "public" // shows its reasoning
)

// Words lists the values.
func (Thinking) Words() []string {
	return []string{"off", string(thinkingStatus), string(ThinkingFull), string(ThinkingPublic)}
}

// AgentProtocol is the protocol of requests to an agent of the owner's own.
type AgentProtocol string

// agentAGUI is the default protocol.
const agentAGUI AgentProtocol = "ag-ui"

// Words returns the allowed values.
func (AgentProtocol) Words() []string { return []string{string(agentAGUI), "ai-sdk"} }

// AgentHistory selects the messages in a request to an agent.
type AgentHistory string

// historyFull is the default.
const historyFull AgentHistory = "full"

// Words returns the allowed values.
func (AgentHistory) Words() []string { return []string{string(historyFull), "last"} }

// AgentShare is data that an agent gets besides the text.
type AgentShare string

// Words returns the allowed values.
func (AgentShare) Words() []string { return []string{"name", "platform", "files", "file_links"} }
