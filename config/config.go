// Package config reads config.yaml: strict keys, errors that name file, line,
// column and key, references to the environment and to files, secrets that
// never print themselves.
//
// The structs below are the one source of the file's shape. Their tags hold the
// defaults, their comments become the descriptions in schema.json.
package config

import (
	"net/netip"
	"time"
)

// Config is a whole configuration, checked and with every reference resolved.
type Config struct {
	// Who the agent is.
	Agent Agent `yaml:"agent"`
	// Where language models are reached.
	Providers Providers `yaml:"providers"`
	// Which model does which work.
	Models Models `yaml:"models"`
	// The accounts that own this gateway and may do everything. Empty: whoever first sends a bot the code that the log shows.
	Owner []Account `yaml:"owner"`
	// Who is answered where.
	Access Access `yaml:"access"`
	// How much may be spent in a day.
	Limits DayLimits `yaml:"limits"`
	// The web chat and its API.
	Web Web `yaml:"web"`
	// The chat platforms.
	Connectors Connectors `yaml:"connectors"`
	// What the agent can do beyond talking.
	Plugins Plugins `yaml:"plugins"`
	// How questions become answers.
	Turns Turns `yaml:"turns"`
	// Where conversations are kept: sqlite:PATH, relative to the directory the gateway is started in.
	Store DSN `yaml:"store" default:"sqlite:parley.db"`
	// What several processes share: inmem: for a single one, redis://HOST or rediss://HOST for more.
	Shared DSN `yaml:"shared" default:"${env:REDIS_URL:-inmem:}"`
	// How the gateway ends.
	Shutdown Shutdown `yaml:"shutdown"`
	// What the gateway writes about its own work.
	Log Log `yaml:"log"`

	// Warnings tell what was read and has no effect. They are not part of the file.
	Warnings []string `yaml:"-"`
	// Places tell where the agent's templates stand, by their names.
	Places map[string]string `yaml:"-"`
}

// Providers lists the ways to reach language models.
type Providers struct {
	// OpenAI, or any server that speaks its API (Ollama, LM Studio, vLLM, ...).
	OpenAI OpenAI `yaml:"openai"`
}

// OpenAI is a server that speaks the OpenAI API.
type OpenAI struct {
	// auto: on when there is a key or a base_url. true: an error without either. false: off.
	Enabled *bool `yaml:"enabled"`
	// The server's address. Empty: OpenAI itself, when there is a key. A server of your own may need no key.
	BaseURL string `yaml:"base_url" default:"${env:OPENAI_BASE_URL:-}"`
	// The key that the server asks for.
	APIKey Secret `yaml:"api_key" default:"${env:OPENAI_API_KEY:-}"`
}

// Models gives each kind of work its model.
type Models struct {
	// The model that answers.
	Large Model `yaml:"large"`
	// The model for short questions: whether a message is meant for the agent, what is worth remembering. Off: the large one.
	Small Slot `yaml:"small"`
	// The model that describes pictures, for a large one that can't see. Off: pictures are only named.
	Vision Slot `yaml:"vision"`
	// The model that writes down what is said in voice messages. Off: people are asked to write.
	Transcription Slot `yaml:"transcription"`
	// The model that paints. Off: the agent offers no pictures.
	Image Slot `yaml:"image"`
	// The model that finds what is alike in meaning. Off: words are compared.
	Embedding Slot `yaml:"embedding"`
}

// Slot is a model for one kind of work. It is off without a name.
type Slot struct {
	// Who runs the model: openai, or empty for the same.
	Provider Provider `yaml:"provider"`
	// The model's name as its provider knows it. Empty: off.
	Model string `yaml:"model"`
}

// Model is one model and how it is asked.
type Model struct {
	// Who runs the model: openai, demo, or empty for openai when it is on and demo otherwise.
	Provider Provider `yaml:"provider"`
	// The model's name as its provider knows it. Empty: the only one that the server lists.
	Model string `yaml:"model" default:"${env:OPENAI_MODEL:-}"`
	// How much the model writes at a time, in tokens. An answer that is longer goes on, twice at most. 0: the provider's own limit.
	MaxTokens int `yaml:"max_tokens"`
	// From 0 (sober) to 2 (wild). auto: the provider's own setting.
	Temperature *float64 `yaml:"temperature"`
	// true says that the model sees pictures: they are shown to it as they are.
	Vision bool `yaml:"vision"`
}

// Access says who is answered where on the chat platforms.
type Access struct {
	// Direct chats: pairing tells strangers a code with which the owner lets them in, open answers everybody, allowlist only those who are allowed or were let in, off nobody.
	Direct DirectAccess `yaml:"direct" default:"pairing"`
	// Groups, for those who are allowed or were let in: mention_only answers what is addressed to the agent, ambient also what seems meant for it, off nothing.
	Group GroupAccess `yaml:"group" default:"mention_only"`
	// Who may talk to the agent without the owner's word.
	Allow Allow `yaml:"allow"`
	// The groups and channels where the agent answers. With worlds empty too: all.
	Rooms []Chat `yaml:"rooms"`
	// The servers where the agent answers, with all their channels.
	Worlds []World `yaml:"worlds"`
	// What is answered in groups without being addressed to the agent, if who wrote it may talk to it.
	Always Always `yaml:"always"`
	// Other bots, if they are allowed as people are: mention answers what is addressed to the agent, a few times in a row, off nothing.
	Bots BotAccess `yaml:"bots" default:"off"`
	// What is different in some places. Of several for a room the one for its thread or channel counts.
	Overrides []Override `yaml:"overrides"`
}

// Allow lists who may talk to the agent.
type Allow struct {
	// Accounts, everywhere.
	Users []Account `yaml:"users"`
	// Roles on servers: everybody who has one, on its server.
	Roles []Role `yaml:"roles"`
	// Groups and channels: everybody who writes there.
	Rooms []Chat `yaml:"rooms"`
	// Servers: everybody who writes there.
	Worlds []World `yaml:"worlds"`
}

// Always is what is answered without being addressed to the agent.
type Always struct {
	// The groups and channels where everything is answered.
	Rooms []Chat `yaml:"rooms"`
	// The sources, in the words of those who send messages, of which everything is answered.
	Sources []string `yaml:"sources" default:"client_chat, api, postman"`
}

// Override is what is different in some places.
type Override struct {
	// The groups and channels that it is for.
	Rooms []Chat `yaml:"rooms"`
	// The servers that it is for.
	Worlds []World `yaml:"worlds"`
	// What is answered there, in the words of access.group. auto: as everywhere.
	Group *GroupAccess `yaml:"group"`
	// The instructions that stand before conversations there. Empty: those of the agent.
	System string `yaml:"system"`
	// The names of the actions that the agent may use there. Empty: all.
	Tools []string `yaml:"tools"`
}

// DayLimits bounds what is spent on models in a day. With web.public a person and the total need a limit of tokens.
type DayLimits struct {
	// Where the day begins at midnight, as in the tz database: Europe/Berlin. Local is where this machine is.
	Timezone string `yaml:"timezone" default:"UTC"`
	// Answers that are made for one person at a time; further ones wait. 0 is no limit.
	Parallel int `yaml:"parallel" default:"2"`
	// By one person, wherever they write. A visitor of the web chat is an address.
	Person Quota `yaml:"person"`
	// In one chat, group, channel or conversation.
	Room Quota `yaml:"room"`
	// By everybody.
	Total Quota `yaml:"total"`
}

// Quota is how much is allowed in a day. 0 is no limit; auto is none either, but what web.public needs.
type Quota struct {
	// Messages that are answered, or that the model is asked whether to answer.
	Messages *int `yaml:"messages"`
	// Tokens of models, read and written.
	Tokens *int `yaml:"tokens"`
}

// Web is the web chat and its API.
type Web struct {
	// The host and port to listen on. Beyond this machine it needs public, origins and limits.
	Listen string `yaml:"listen" default:"127.0.0.1:8080"`
	// true says that strangers may reach the web chat.
	Public bool `yaml:"public"`
	// The sites that may hold the chat, exactly as a browser names them: scheme://host or scheme://host:port.
	Origins []string `yaml:"origins"`
	// The address ranges of your own proxies, whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies"`
	// How much one visitor may ask for.
	Limits Limits `yaml:"limits"`
}

// Limits bounds what one address may ask of the web chat. 0 means no limit.
type Limits struct {
	// Messages in a minute from one address, and 20 times as many requests that only read. 0: no limit.
	MessagesPerMinute int `yaml:"messages_per_minute" default:"30"`
	// New conversations in an hour from one address. 0: no limit.
	ConversationsPerHour int `yaml:"conversations_per_hour" default:"60"`
	// Requests from one address that are open at the same time, the streams of answers among them. 0: no limit.
	OpenRequests int `yaml:"open_requests" default:"64"`
}

// Connectors lists the chat platforms.
type Connectors struct {
	// The agent's account on Discord.
	Discord Discord `yaml:"discord"`
	// The agent's account on Telegram.
	Telegram Telegram `yaml:"telegram"`
}

// Plugins are what the agent can do.
type Plugins struct {
	// Music that the agent finds and plays. On as soon as there is some.
	Player Player `yaml:"player"`
}

// Player is where the music is.
type Player struct {
	// A folder with music and its folders: mp3, ogg, opus, flac, m4a, aac, wav.
	Folder string `yaml:"folder"`
	// Addresses of tracks. People see them, without those that hold a password or a query.
	URLs []string `yaml:"urls"`
}

// On says whether there is music.
func (p Player) On() bool { return p.Folder != "" || len(p.URLs) > 0 }

// Discord is the agent's account on Discord.
type Discord struct {
	// auto: on when there is a token. true: an error without one. false: off.
	Enabled *bool `yaml:"enabled"`
	// The bot's token, from the Bot page of the application at discord.com/developers.
	Token Secret `yaml:"token" default:"${env:DISCORD_TOKEN:-}"`
	// Another address for the platform's API, for tests and proxies. Empty: Discord's own.
	APIURL string `yaml:"api_url"`
	// How much is sent. More than Discord allows leads to pauses.
	Limits DiscordLimits `yaml:"limits"`
	// The age up to which missed messages are answered, where Discord can't deliver them after a restart or an outage. At
	// most 24h; 0: none.
	CatchUp time.Duration `yaml:"catch_up" default:"1h"`
	// How much people see of what the agent does beside what it says: a line for each call of an action.
	// compact: while it writes. full: afterwards too. off: nothing.
	Progress Progress `yaml:"progress" default:"compact"`
	// Where code goes that would take more than two messages.
	// message: into as many as it takes. file: below the answer, with a line in place of the code.
	LongCode LongCode `yaml:"long_code" default:"message"`
	// How many messages one answer has at most. The rest of a longer one is in a file below it. 0: as many as it takes.
	MaxMessages int `yaml:"max_messages" default:"10"`
}

// DiscordLimits bounds what is sent to Discord.
type DiscordLimits struct {
	// The time between two edits of an answer in a channel.
	Edits time.Duration `yaml:"edits" default:"1.2s"`
	// Requests in a second, over all channels.
	PerSecond int `yaml:"per_second" default:"45"`
}

// Telegram is the agent's account on Telegram.
type Telegram struct {
	// auto: on when there is a token. true: an error without one. false: off.
	Enabled *bool `yaml:"enabled"`
	// The bot's token, as @BotFather gives it.
	Token Secret `yaml:"token" default:"${env:TELEGRAM_TOKEN:-}"`
	// Another address for the platform's API, for a Bot API server of your own. Empty: Telegram's own.
	APIURL string `yaml:"api_url"`
	// How much is sent. More than Telegram allows leads to pauses, up to hours.
	Limits TelegramLimits `yaml:"limits"`
	// How much people see of what the agent does beside what it says: a line for each call of an action.
	// compact: while it writes. full: afterwards too. off: nothing.
	Progress Progress `yaml:"progress" default:"compact"`
	// Where code goes that would take more than two messages.
	// message: into as many as it takes. file: below the answer, with a line in place of the code.
	LongCode LongCode `yaml:"long_code" default:"message"`
	// How many messages one answer has at most. The rest of a longer one is in a file below it. 0: as many as it takes.
	MaxMessages int `yaml:"max_messages" default:"10"`
	// What happens when Telegram fails while it takes the last message of an answer, so that it may or may not have arrived.
	// resend: after a pause it is sent once more, with a line that says so. skip: it is not sent again, and the log says so.
	Ambiguous Ambiguous `yaml:"ambiguous" default:"resend"`
}

// TelegramLimits bounds what is sent to Telegram.
type TelegramLimits struct {
	// The time between two edits of an answer in a private chat.
	PrivateEdits time.Duration `yaml:"private_edits" default:"1.1s"`
	// The time between two edits of an answer in a group.
	GroupEdits time.Duration `yaml:"group_edits" default:"3.5s"`
	// Requests in a minute in one group, with all its topics.
	GroupPerMinute int `yaml:"group_per_minute" default:"20"`
	// Requests in a second, over all chats.
	PerSecond int `yaml:"per_second" default:"30"`
}

// Turns says what happens when questions and answers meet, and how long they may take.
type Turns struct {
	// A new message in a direct chat while an answer is being written.
	Direct TurnRule `yaml:"direct" default:"supersede"`
	// The same in a group.
	Group TurnRule `yaml:"group" default:"queue"`
	// A question that is edited: revise writes its answer anew if it is the latest and at most 15 minutes old, remember leaves it.
	OnEdit EditRule `yaml:"on_edit" default:"revise"`
	// How long to wait in a direct chat for more before answering, so that a text sent in parts is answered once. 0s: not at all.
	Window time.Duration `yaml:"window" default:"0s"`
	// The longest time for one answer, at most 60m.
	Timeout time.Duration `yaml:"timeout" default:"15m"`
	// The longest wait for the model's first sign of life.
	FirstEvent time.Duration `yaml:"first_event" default:"90s"`
	// The longest silence of the model after that.
	Idle time.Duration `yaml:"idle" default:"75s"`
}

// Shutdown says how the gateway ends.
type Shutdown struct {
	// How long answers that are being written may take to finish.
	Grace time.Duration `yaml:"grace" default:"20s"`
}

// Log says what the gateway writes about its own work.
type Log struct {
	// The least important line that is written.
	Level LogLevel `yaml:"level" default:"info"`
	// text for people, json for machines, auto for text on a terminal and json elsewhere.
	Format LogFormat `yaml:"format" default:"auto"`
}
