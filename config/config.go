// Package config reads config.yaml: strict keys, errors with file, line, column and key, references to the environment
// and to files, and secrets that are never printed.
//
// The structs define the shape of the file. Their tags contain the defaults, and their comments become the descriptions
// in schema.json. The sections of platforms and providers are not known here: their packages describe them (see package
// sections), and the caller hands in the descriptors.
//
// A file is read in these steps. Each reports all problems that it finds and none that follow from an earlier
// one:
//
//  1. node.go (YAML) and json.go (character files) parse the text to nodes with positions. Features of YAML that configurations don't need
//     are rejected.
//  2. character.go adds the values of a character file to the section agent.
//  3. decode.go walks the structs by reflection. form.go describes the notation of each type, reference.go replaces ${env:…} and ${file:…},
//     problem.go suggests the key for a misspelled one.
//  4. check.go and the files of the subjects report values that are well-formed but invalid together.
//  5. documents.go loads the agent's knowledge, whose problems are only warnings.
package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"parley/core/quota"
)

// Config is a complete, validated configuration with all references resolved.
type Config struct {
	// Model providers.
	Providers Providers `yaml:"providers"`
	// The models.
	Models Models `yaml:"models"`
	// The chat platforms. Each is enabled by its token; ${env:NAME} without :- requires it.
	Connectors Connectors `yaml:"connectors" restart:"true"`
	// The web chat and its API.
	Web Web `yaml:"web"`
	// The operator's page, at /admin of the web chat. See docs/operate.md.
	Admin Admin `yaml:"admin"`
	// Who the agent is. See docs/character.md.
	Agent Agent `yaml:"agent"`
	// Who can do what. See docs/access.md.
	People People `yaml:"people"`
	// The time zone of days, reminders, quiet hours and schedules, and of the time that the agent knows: UTC, Local for this machine's
	// time zone, or a name such as Europe/Berlin.
	Timezone string `yaml:"timezone" default:"Local"`
	// Daily limits on model usage. Anyone who reaches a limit is told once and answered again the next day.
	// 0 = no limit; auto = no limit, but with web.public 50 messages and 100000 tokens per person, and 2000000 tokens in total.
	Limits DayLimits `yaml:"limits"`
	// Who can talk to the bots, and where. Messages from others never reach the model and cost nothing.
	Access Access `yaml:"access"`
	// The rule for a new message that arrives while an answer is being written:
	//   supersede = stop the old answer; the new one takes both messages into account
	//   steer     = the answer goes on and takes a text that its asker sends meanwhile into account, before its next step
	//   queue     = answer each message, one after the other
	//   collect   = answer all waiting messages together
	Turns Turns `yaml:"turns"`
	// Messages that the agent sends on its own initiative. See docs/initiative.md.
	Initiative Initiative `yaml:"initiative"`
	// Tasks of the agent at certain times: see docs/initiative.md. A list of
	//   - name: standup
	//     cron: "0 9 * * 1-5"
	//     room: "telegram:-1001234567890"
	//     prompt: Ask everyone what they plan to do today.
	Schedules []Schedule `yaml:"schedules"`
	// Tasks of the agent when another program calls POST /api/hooks/NAME: see docs/initiative.md. A list of
	//   - name: build
	//     secret: ${env:BUILD_SECRET}
	//     room: "telegram:-1001234567890"
	//     prompt: A build ended as {{status}}. Sum up in one sentence what it says.
	Hooks []Hook `yaml:"hooks"`
	// Plugins: abilities of the agent besides chatting.
	Plugins Plugins `yaml:"plugins"`
	// MCP servers, whose tools the agent can use: see docs/tools.md. A list of
	//   - name: files
	//     command: [npx, -y, "@modelcontextprotocol/server-filesystem", /srv/files]
	//     tools: {read: [read_text_file, list_directory]}
	MCP []MCPServer `yaml:"mcp"`
	// Your own HTTP endpoints as tools: see docs/tools.md. A list of
	//   - name: ORDER_STATUS
	//     description: Look up an order.
	//     parameters: {type: object, properties: {order: {type: string}}}
	//     url: https://shop.example.org/order-status
	//     secret: ${env:SHOP_SECRET}
	//     effect: read
	Tools []WebhookTool `yaml:"tools"`
	// Encrypts the tokens of MCP servers that need a login: 32 bytes in base64, made with openssl rand -base64 32. Keep it: without it
	// every login has to be repeated.
	SecretKey Secret `yaml:"secret_key" default:"${env:PARLEY_SECRET_KEY:-}"`
	// Where conversations are stored. sqlite: and a path, relative to the working directory = in a file.
	// postgres://USER:PASSWORD@HOST/DATABASE = in PostgreSQL 14 or later, which several gateways can share if shared is redis://.
	Store DSN `yaml:"store" default:"sqlite:parley.db" restart:"true"`
	// How many days data is kept, unless users delete it earlier. Usage is kept for 31 days, and facts as long as agent.fact_days says.
	Retention Retention `yaml:"retention"`
	// Where turns and request budgets are kept. inmem: = in memory. redis://HOST:6379 = in Redis; redis+sentinel://HOST:26379?master_name=NAME =
	// behind Sentinel; redis+cluster://HOST:6379?addr=HOST2:6379 = a cluster; rediss instead of redis = with TLS.
	Shared DSN `yaml:"shared" default:"${env:REDIS_URL:-inmem:}" restart:"true"`
	// A name for the gateways that share one store and one Redis. It begins all their keys. Empty = the id of the store.
	Cluster string `yaml:"cluster" default:"" restart:"true"`
	// How long to wait at shutdown for answers in progress.
	Shutdown time.Duration `yaml:"shutdown" default:"20s" restart:"true"`
	// Logging.
	Log Log `yaml:"log"`
	// Metrics for Prometheus. See docs/monitoring.md.
	Metrics Metrics `yaml:"metrics" restart:"true"`
	// Traces for a collector of OpenTelemetry. See docs/monitoring.md.
	Traces Traces `yaml:"traces" restart:"true"`

	// Warnings list settings that have no effect. They are not part of the file.
	Warnings []string `yaml:"-"`
	// Places are the positions of the agent's templates in their files, by name.
	Places map[string]string `yaml:"-"`
	// Files are the files that it was read from, besides its own: the character file, and those of ${file:PATH}.
	Files []string `yaml:"-"`
	// Prompts are those of Files with the agent's character and prompts, which hold no secrets.
	Prompts []string `yaml:"-"`
}

// Admin is the operator's page. Browsers on this machine can open it, and others over https: by web.tls, or through one of
// web.trusted_proxies.
type Admin struct {
	// Log in with your organization's OpenID Connect, besides the one-time codes. Its redirect address is /admin/oidc/callback.
	OIDC OIDC `yaml:"oidc"`
}

// OIDC is a provider of OpenID Connect.
type OIDC struct {
	// The provider's address, such as https://login.example.org/realms/main. Empty = off.
	Issuer string `yaml:"issuer"`
	// The id of the client that you registered there.
	ClientID string `yaml:"client_id"`
	// Its secret, if it has one.
	ClientSecret Secret `yaml:"client_secret"`
	// The group of the owners, by the claim groups. Empty = none.
	Owners string `yaml:"owners"`
	// The group of the staff, who see conversations and requests, but neither the configuration nor the spending. Empty = none.
	Staff string `yaml:"staff"`
}

func (d checker) checkAdmin(o OIDC) {
	u, err := url.Parse(o.Issuer)
	switch {
	case o == OIDC{}:
	case err != nil || u.Scheme != "https" && u.Hostname() != "127.0.0.1":
		d.reject("admin.oidc.issuer", "is no address with https", "write it as the provider does, such as https://login.example.org")
	case o.ClientID == "":
		d.reject("admin.oidc.client_id", "is missing", "register the gateway at the provider, with the redirect address /admin/oidc/callback")
	case o.Owners == "" && o.Staff == "":
		d.reject("admin.oidc.owners", "is missing, and so is admin.oidc.staff", "name the group of the owners, or of the staff")
	}
}

// Retention is the number of days that data is kept.
type Retention struct {
	// Messages and answers, with their files. 0 = until users delete them.
	Messages int `yaml:"messages" default:"0"`
	// The contents of files that were sent in the web chat, and of generated images. The messages stay. 0 = as long as their messages.
	Files int `yaml:"files" default:"0"`
	// Records of finished answers and approvals, empty web conversations, and users without messages.
	Records int `yaml:"records" default:"30"`
}

// maxRetention is a hundred years, in days.
const maxRetention = 36500

func (d checker) checkRetention(r Retention) {
	for _, k := range []struct {
		key           string
		days, minimum int
	}{{"messages", r.Messages, 0}, {"files", r.Files, 0}, {"records", r.Records, 1}} {
		if k.days < k.minimum || k.days > maxRetention {
			d.reject("retention."+k.key, fmt.Sprintf("is not between %d and %d", k.minimum, maxRetention), "it is a number of days")
		}
	}
}

// Providers lists the model providers.
type Providers struct {
	// OpenAI, or any server with the same API: Ollama, LM Studio, vLLM, ...
	OpenAI OpenAI `yaml:"openai"`
	// The others have sections of their own.
	Others `yaml:"-"`
}

// OpenAI is OpenAI, or a server with the same API.
type OpenAI struct {
	// The API key. OpenAI is on if there is a key or a base_url.
	APIKey Secret `yaml:"api_key" default:"${env:OPENAI_API_KEY:-}"`
	// Your own server, such as http://127.0.0.1:11434/v1 (Ollama; needs no key). Empty = OpenAI itself.
	BaseURL string `yaml:"base_url" default:"${env:OPENAI_BASE_URL:-}"`
}

// Models assigns a model to each task.
type Models struct {
	// The model that writes the answers.
	Large Model `yaml:"large"`
	// Several models that can answer, instead of models.large. The first one does; when it fails, its fallbacks continue, in
	// order. For example:
	//   - name: fast
	//     provider: openai
	//     model: gpt-4o-mini
	//     fallback: [local]
	//   - name: local
	//     provider: ollama
	//     model: llama3.2
	//   - name: mine
	//     provider: http
	//     url: http://127.0.0.1:9000/agent
	Chat []ChatModel `yaml:"chat"`
	// Whether everyone can choose among models.chat with /model, in direct messages and in the web chat, each for their own
	// conversation: true or false. auto = only in the web chat, and only without web.public. Owners and staff can in every chat.
	Switch *bool `yaml:"switch"`
	// For short questions, such as whether a message in a group is meant for the agent. Off = the large model does it.
	Small Slot `yaml:"small"`
	// Describes images, for a large model without image input. Off = images are only mentioned by name.
	Vision Slot `yaml:"vision"`
	// Transcribes voice messages. Off = users are asked to send text instead.
	Transcription Slot `yaml:"transcription"`
	// Generates images. They are shown below the answer and kept in the store. Off = no image generation.
	Image Slot `yaml:"image"`
	// Speaks answers: to users who want that (/voice on), and on request. Off = no speech.
	Speech Speech `yaml:"speech"`
	// Semantic search. Off = keywords.
	Embedding Slot `yaml:"embedding"`
}

// Slot is an optional model for one task. It is off without a name.
type Slot struct {
	// A provider, or "" = that of the large model.
	Provider Provider `yaml:"provider"`
	// The model name, such as gpt-4o-mini. Empty = off.
	Model string `yaml:"model"`
	// Its price: see models.large.price. A transcription has {minute: 0.006}, image generation {image: 0.04}, embeddings {input: 0.02}.
	Price Price `yaml:"price" default:"auto"`
}

// Speech is the model that speaks.
type Speech struct {
	Slot `yaml:",inline"`
	// The provider's name of a voice, such as nova. Empty = alloy, or Kore for gemini.
	Voice string `yaml:"voice"`
}

// Model is a model and its parameters.
type Model struct {
	// A provider: demo, or a key of providers, such as openai. "" = openai if it is on, otherwise the only provider that is on if
	// a model is set, otherwise demo.
	Provider Provider `yaml:"provider"`
	// The model name. Empty = the only model that the server lists.
	Model string `yaml:"model" default:"${env:OPENAI_MODEL:-}"`
	// The maximum output tokens per call. A longer answer is continued, at most twice. 0 = the provider's limit.
	MaxTokens int `yaml:"max_tokens"`
	Parameters
	// The display while it reasons: off = nothing; status = that it is thinking; full = also its reasoning, collapsed, on the page of the
	// web chat; public = the same, also with web.public. Reasoning is never part of an answer.
	Thinking Thinking `yaml:"thinking" default:"status"`
	// Whether it accepts images, and gets the images that users send. auto = by its name, for well-known models; otherwise false.
	Vision *bool `yaml:"vision"`
	// Its price in US dollars per million tokens, such as {input: 0.15, cached: 0.075, output: 0.60}; also cache_write. 0 = free, for
	// models of your own. {as: openai/gpt-4o} = as that one, for deployments and servers with names of your own. auto = from the table of
	// known prices: see docs/limits.md.
	Price Price `yaml:"price" default:"auto"`
}

// ChatModel is one of several models that can answer.
type ChatModel struct {
	// Your name for it: letters, digits, dots, dashes and underscores.
	Name string `yaml:"name"`
	// A provider: demo, or a key of providers, such as openai. "" = as for models.large; after the first one, that of the first.
	Provider Provider `yaml:"provider"`
	// The model name, as the provider calls it.
	Model string `yaml:"model"`
	// With provider: http, the address of an agent of your own, such as http://127.0.0.1:9000/agent. Empty = that of providers.http.
	URL string `yaml:"url"`
	// With url, the key that this agent wants, if any. It is sent as "Authorization: Bearer".
	APIKey Secret `yaml:"api_key"`
	// With provider: http, the protocol of requests to the agent: ag-ui (answers can be AG-UI or lines of JSON), or ai-sdk, for a
	// route of the Vercel AI SDK such as /api/chat.
	Protocol AgentProtocol `yaml:"protocol" default:"ag-ui"`
	// full = each request has the whole conversation. last = only the new messages, for an agent with a memory of its own. With
	// provider: responses, last lets OpenAI store the conversation.
	History AgentHistory `yaml:"history" default:"full"`
	// With provider: http, data for the agent besides the text: name and platform of the user, and files = attachments, in base64, or
	// file_links = an address of each attachment instead, where the agent can fetch it once.
	Share []AgentShare `yaml:"share"`
	// With provider: http, signs the requests to the agent, so that it can refuse others: see docs/your-agent.md. Empty = unsigned.
	SigningKey Secret `yaml:"signing_key"`
	// With provider: http, the key of the agent for messages of its own: see docs/your-agent.md. Empty = off.
	Token Secret `yaml:"token"`
	// The maximum output tokens per call. 0 = the provider's limit.
	MaxTokens int `yaml:"max_tokens"`
	Parameters
	// The display while it reasons: see models.large.thinking.
	Thinking Thinking `yaml:"thinking" default:"status"`
	// Whether it accepts images: see models.large.vision.
	Vision *bool `yaml:"vision"`
	// Its price: see models.large.price.
	Price Price `yaml:"price" default:"auto"`
	// false = it can't call tools, so it is given none.
	Tools *bool `yaml:"tools"`
	// The maximum tokens of its prompts, such as its context window without the answer. 0 = agent.prompt_tokens.
	PromptTokens int `yaml:"prompt_tokens"`
	// The names of the models that continue when it fails, in order.
	Fallback []string `yaml:"fallback"`
}

// DayLimits are daily limits on model usage. With web.public, the token limits per person and in total must not be 0.
type DayLimits struct {
	// The maximum number of answers at the same time for one person, over all rooms. More wait in order; commands and choices
	// don't. 0 = no limit.
	Parallel int `yaml:"parallel" default:"2"`
	// The same for everyone together, in this process. 0 = no limit.
	ParallelTotal int `yaml:"parallel_total" default:"1000"`
	// Per person, over all rooms. In the web chat, a person is an IP address.
	Person Quota `yaml:"person"`
	// Per chat, group, channel or conversation.
	Room Quota `yaml:"room"`
	// For everyone together.
	Total Quota `yaml:"total"`
}

// Quota is a daily limit. 0 means no limit; auto means the default, which depends on web.public.
type Quota struct {
	// Messages that are answered, and those that the model decides to ignore.
	Messages *int `yaml:"messages"`
	// Input and output tokens. If the provider doesn't report them, they are estimated on the high side.
	Tokens *int `yaml:"tokens"`
	// US dollars, such as 0.50. Needs the price of every model that can be asked: see docs/limits.md.
	USD quota.USD `yaml:"usd"`
	// US dollars after which the asker decides before each answer: continue, use a cheaper model, or stop. Less than usd.
	SoftUSD quota.USD `yaml:"soft_usd"`
}

// Web is the web chat and its API.
type Web struct {
	// The host and port to listen on. Only this machine can reach 127.0.0.1.
	// Any other address needs public: true, at least one origin, web.limits and daily limits.
	Listen string `yaml:"listen" default:"127.0.0.1:8080" restart:"true"`
	// true = anyone can reach the web chat, at your expense.
	Public bool `yaml:"public"`
	// The sites that can embed the chat, such as ["https://www.example.org"], without a trailing slash.
	Origins []string `yaml:"origins"`
	// The names that lead to this machine, such as [chat.example.org]: the chat is also at https://chat.example.org, at the ports 443 and 80 of
	// this machine, with a certificate of Let's Encrypt, which the gateway renews. Setting them accepts its terms. Needs public: true. Empty = off.
	TLS Domains `yaml:"tls" restart:"true"`
	// Your reverse proxies, such as ["10.0.0.0/8"]. X-Forwarded-For is only trusted from them.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies"`
	// Rate limits per visitor. 0 = no limit.
	Limits Limits `yaml:"limits"`
	// The accounts of your site: a visitor brings a JSON Web Token that your server signs.
	Accounts Accounts `yaml:"accounts"`
	// true = only visitors with an account, and programs with an API key, can use the web chat.
	RequireIdentity bool `yaml:"require_identity"`
	// Turnstile or hCaptcha, which tells people from programs: each new anonymous visitor proves once to be a person.
	Verify Verify `yaml:"verify"`
	// Until this day, such as 2027-01-31, conversations that were opened without a token can be read with their ids alone. Empty = 30 days
	// after the first start.
	ClaimUntil string `yaml:"claim_until"`
	// The address of your help desk, which gets the messages that visitors leave while the agent can't answer: https, or http on this machine.
	// See docs/web.md. Empty = only the owners' chats get them.
	ContactURL Secret `yaml:"contact_url"`
	// How the chat looks, on its own page and on your sites, whose script tags can say otherwise.
	Widget Widget `yaml:"widget"`
}

// Widget is the look of the web chat.
type Widget struct {
	// The first words of an empty chat. Empty = a greeting in the visitor's language.
	Greeting string `yaml:"greeting"`
	// First messages to choose from, such as ["Where is my parcel?"].
	Suggestions []string `yaml:"suggestions"`
	// The address of a picture of the agent, such as https://www.example.org/ada.png. Empty = the first letter of its name.
	Avatar string `yaml:"avatar"`
	// A line below the text field, such as "We keep chats for a month."
	Privacy string `yaml:"privacy"`
	// The corner on your sites: right or left.
	Position Side `yaml:"position" default:"right"`
	// The color of buttons and messages, such as "#0a7d55". Empty = the default one.
	Accent string `yaml:"accent"`
}

// Verify is a service that tells people from programs.
type Verify struct {
	// The site key of Turnstile, such as 0x4AAAAAAA…, or of hCaptcha, which is a UUID. Empty = off.
	SiteKey string `yaml:"site_key"`
	// The secret key.
	Secret Secret `yaml:"secret"`
}

// Domains are the names of sites. The gateway gets and renews their certificates.
type Domains []string

// Origins returns the origins of the domains.
func (all Domains) Origins() (origins []string) {
	for _, d := range all {
		origins = append(origins, "https://"+d)
	}
	return origins
}

// Limits are the rate limits of the web chat per visitor. 0 means no limit.
type Limits struct {
	// Messages per minute and visitor, and 20 times as many read requests. Without a token, a visitor is an IP address.
	// All visitors of an address have 16 times as much.
	MessagesPerMinute int `yaml:"messages_per_minute" default:"30"`
	// New conversations per hour and visitor.
	ConversationsPerHour int `yaml:"conversations_per_hour" default:"60"`
	// Open requests per visitor at the same time, including answer streams.
	OpenRequests int `yaml:"open_requests" default:"64"`
}

// Accounts verify the tokens of visitors with an account at a site. At most one of Secret, PublicKey and JWKS is set.
type Accounts struct {
	// The key of HS256, which your server has too: at least 32 characters.
	Secret Secret `yaml:"secret"`
	// The public key of EdDSA (Ed25519): PEM, or 32 bytes in base64.
	PublicKey string `yaml:"public_key"`
	// The address of your identity provider's public keys (JWKS), of RS256, ES256 or EdDSA.
	JWKS string `yaml:"jwks"`
	// The aud of the tokens, such as https://www.example.org.
	Audience string `yaml:"audience"`
}

// On reports whether visitors can have accounts.
func (a Accounts) On() bool { return a.Secret != "" || a.PublicKey != "" || a.JWKS != "" }

// ClaimTime returns the end of [Web.ClaimUntil], or the zero time.
func (w Web) ClaimTime() time.Time {
	day, err := time.Parse(time.DateOnly, w.ClaimUntil)
	if err != nil {
		return time.Time{}
	}
	return day.AddDate(0, 0, 1)
}

// Plugins configures the plugins.
type Plugins struct {
	// Music player: finds a track by title, asks which one if several match (with buttons, for 5 minutes), shows its progress and
	// posts the link or the file. Enabled if there is a folder or a URL.
	Player Player `yaml:"player"`
	// Reading and searching the web: see docs/tools.md.
	Web WebTools `yaml:"web"`
}

// Player configures the music player.
type Player struct {
	// A folder with music, including subfolders: mp3, ogg, opus, flac, m4a, aac, wav. Relative to the working directory.
	// Files of up to 8 MiB are sent; larger ones are only named. Symlinks that lead out of the folder are not followed.
	Folder string `yaml:"folder"`
	// Track URLs, such as ["https://example.org/clair-de-lune.mp3"]. A URL is shown unless it contains a password or a query.
	// If a server doesn't respond, it is retried once, within 20 seconds in total. The proxy of the environment is used.
	URLs []string `yaml:"urls"`
}

// On reports whether the player has a folder or a URL.
func (p Player) On() bool { return p.Folder != "" || len(p.URLs) > 0 }

// Turns defines the rule for messages that arrive while an answer is being written, and the time limits.
type Turns struct {
	// In direct messages.
	Direct TurnRule `yaml:"direct" default:"supersede"`
	// In groups.
	Group TurnRule `yaml:"group" default:"queue"`
	// When a user edits a message: revise = rewrite its answer in place, if the message is the latest and at most
	// 15 minutes old; remember = keep the answer; only later answers see the new text.
	OnEdit EditRule `yaml:"on_edit" default:"revise"`
	// How long to wait in direct messages for more before answering, so that a text sent in parts gets one answer.
	// Such as 2s; at most 1m; 0s = don't wait.
	Window time.Duration `yaml:"window" default:"0s"`
	// The time limit for one answer, at most 60m.
	Timeout time.Duration `yaml:"timeout" default:"15m"`
	// The timeout for the model's first output.
	FirstEvent time.Duration `yaml:"first_event" default:"90s"`
	// The timeout between outputs of the model after that.
	Idle time.Duration `yaml:"idle" default:"75s"`
	// Buttons below answers on Discord and Telegram, for the user who asked and the staff: Stop while it is written, and Retry
	// afterwards.
	Buttons bool `yaml:"buttons" default:"true"`
	// How long an answer waits for the approval of a tool call, or for the confirmation of a call that may be a quote. Meanwhile later
	// questions are answered.
	Approval time.Duration `yaml:"approval" default:"1h"`
}

// Log configures logging.
type Log struct {
	// The minimum level: debug, info, warn or error.
	Level LogLevel `yaml:"level" default:"info"`
	// text, json, or auto = text on a terminal and json elsewhere.
	Format LogFormat `yaml:"format" default:"auto" restart:"true"`
}
