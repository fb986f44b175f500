package config

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"time"

	"parley/internal/sections"
)

// MCPServer is an MCP server: a program that the gateway runs, or a server with a URL.
type MCPServer struct {
	// A short name, part of the names of its tools: letters, digits and hyphens.
	Name string `yaml:"name"`
	// The program and its arguments. It gets no environment variables but PATH, HOME, LANG, TZ, TMPDIR and those of env.
	Command []string `yaml:"command"`
	// Its working folder. Empty = a new one that is removed at the end.
	Dir string `yaml:"dir"`
	// Its environment variables, such as {API_TOKEN: "${env:API_TOKEN}"}.
	Env map[string]Secret `yaml:"env"`
	// How many MiB of memory each of its processes can use for data, on Linux. 0 = no limit.
	Memory int `yaml:"memory" default:"2048"`
	// How long each of its processes can compute in all. After that it is ended and started again. 0 = no limit.
	CPU time.Duration `yaml:"cpu" default:"1h"`
	// Instead of command: the URL of a server that speaks streamable HTTP. It can be private.
	URL string `yaml:"url"`
	// Headers for that URL, such as {Authorization: "Bearer ${env:TOKEN}"}. They are never sent elsewhere.
	Headers map[string]Secret `yaml:"headers"`
	// How to log in to the server with OAuth 2.1, if it demands that: gateway mcp login NAME.
	OAuth MCPOAuth `yaml:"oauth"`
	// The tools that can be used, and their effects.
	Tools MCPTools `yaml:"tools"`
	// Where the tools can be used, such as ["discord:80351110224678912"]. Empty = everywhere.
	Rooms []Chat `yaml:"rooms"`
	// Who can use them: owner, allowed (the owner, allowed and approved users) or everyone.
	Who ToolUsers `yaml:"who" default:"allowed"`
	// The time limit for one call, at most 15m.
	Timeout time.Duration `yaml:"timeout" default:"1m"`
}

// MCPOAuth is how the gateway logs in to an MCP server.
type MCPOAuth struct {
	// true = the server needs a login. Its tokens are stored encrypted: set secret_key.
	Enabled bool `yaml:"enabled"`
	// The client, if one was registered at the authorization server by hand. Empty = the gateway registers itself.
	ClientID string `yaml:"client_id"`
	// The secret of that client, if it has one.
	ClientSecret Secret `yaml:"client_secret"`
	// The only authorization server that is accepted. Empty = the one that the MCP server names.
	Issuer string `yaml:"issuer"`
	// The scopes of the login. Empty = those that the MCP server asks for.
	Scopes []string `yaml:"scopes"`
}

// MCPTools are the tools of an MCP server.
type MCPTools struct {
	// The only tools that can be used. Empty = all.
	Allow []string `yaml:"allow"`
	// The tools that can't be used.
	Deny []string `yaml:"deny"`
	// The tools that only read: they run without an approval. All others can change something, and need one.
	Read []string `yaml:"read"`
	// The tools whose every call needs an approval of its own.
	Dangerous []string `yaml:"dangerous"`
	// Names of tools for users, such as {get_order: Order status}. Others have the title that the server gives them,
	// or one made from their name.
	Labels map[string]string `yaml:"labels"`
	// The tools whose calls only the owner sees.
	Hide []string `yaml:"hide"`
}

// WebhookTool is a tool that calls an HTTP endpoint.
type WebhookTool struct {
	// The name of the action: letters, digits and underscores, such as ORDER_STATUS.
	Name string `yaml:"name"`
	// Its name for users, such as Order status. Empty = made from the name.
	Label string `yaml:"label"`
	// true = only the owner sees its calls.
	Hide bool `yaml:"hide"`
	// Its purpose and when to use it, for the model.
	Description string `yaml:"description"`
	// A JSON schema of the arguments, of type object. Empty = no arguments.
	Parameters Object `yaml:"parameters"`
	// The address. It can be private. Redirects are followed on the same server only.
	URL string `yaml:"url"`
	// POST or PUT.
	Method ToolMethod `yaml:"method" default:"POST"`
	// Headers, such as {Authorization: "Bearer ${env:TOKEN}"}.
	Headers map[string]Secret `yaml:"headers"`
	// Signs each request. Empty = no signature.
	Secret Secret `yaml:"secret"`
	// read = it changes nothing and runs at once; write = each call needs an approval; dangerous = it can't be approved for all calls.
	Effect ToolEffect `yaml:"effect" default:"write"`
	// Where the tool can be used. Empty = everywhere.
	Rooms []Chat `yaml:"rooms"`
	// Who can use it: owner, allowed (the owner, allowed and approved users) or everyone.
	Who ToolUsers `yaml:"who" default:"allowed"`
	// The time limit for one call, at most 15m.
	Timeout time.Duration `yaml:"timeout" default:"1m"`
}

// ToolMethod is the method of a request.
type ToolMethod string

// Words returns the allowed values.
func (ToolMethod) Words() []string { return []string{"POST", "PUT"} }

// ToolEffect is the effect of a tool.
type ToolEffect string

// The effects that are treated specially.
const (
	ToolReads     ToolEffect = "read"
	ToolDangerous ToolEffect = "dangerous"
)

// Words returns the allowed values.
func (ToolEffect) Words() []string {
	return []string{string(ToolReads), "write", string(ToolDangerous)}
}

// Object is a section with free keys, as JSON text.
type Object string

// WebTools read and search the web.
type WebTools struct {
	// true = the agent can read https pages on the public internet. Once a turn holds content that others wrote, addresses that neither
	// the user wrote nor a search returned need an approval.
	Fetch bool `yaml:"fetch"`
	// The search service.
	Search WebSearch `yaml:"search"`
	// Who can use both: owner, allowed (the owner, allowed and approved users) or everyone.
	Who ToolUsers `yaml:"who" default:"allowed"`
}

// WebSearch is a search service.
type WebSearch struct {
	// searxng, brave or tavily. Empty = off.
	Provider SearchProvider `yaml:"provider"`
	// The address of your SearXNG server, which can be private. Its JSON format must be on. Empty = the service itself.
	URL string `yaml:"url"`
	// The key, for brave and tavily.
	Key Secret `yaml:"key" default:"${env:SEARCH_API_KEY:-}"`
}

// SearchProvider is a search service.
type SearchProvider string

const searXNG SearchProvider = "searxng"

// Words returns the allowed values.
func (SearchProvider) Words() []string { return []string{"", string(searXNG), "brave", "tavily"} }

// ToolUsers selects who can use tools.
type ToolUsers string

// Who can use tools.
const (
	ToolsOwner    ToolUsers = "owner"
	ToolsAllowed  ToolUsers = "allowed"
	ToolsEveryone ToolUsers = "everyone"
)

// Words returns the allowed values.
func (ToolUsers) Words() []string {
	return []string{string(ToolsOwner), string(ToolsAllowed), string(ToolsEveryone)}
}

var (
	toolName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,23}$`)
	headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

const longestCall = 15 * time.Minute

func (d checker) checkTools(c *Config) {
	names := map[string]bool{}
	for i, s := range c.MCP {
		path := fmt.Sprintf("mcp[%d]", i)
		switch {
		case d.broken(path):
		case !toolName.MatchString(s.Name):
			d.reject(path+".name", "is not a name of at most 24 letters, digits and hyphens", "for example files")
		case names[s.Name]:
			d.reject(path+".name", "is a duplicate", "give each server another name")
		case (len(s.Command) == 0) == (s.URL == ""):
			d.reject(path, "has not exactly one of command and url", "set one of them")
		case len(s.Command) > 0 && s.Command[0] == "":
			d.reject(path+".command", "names no program", "write the program first, such as [npx, -y, package]")
		}
		names[s.Name] = true
		sections.Reject(d.reject).URL(path+".url", s.URL)
		d.checkOAuth(path, s, c.SecretKey)
		if s.Memory < 0 || s.Memory > 1<<20 {
			d.reject(path+".memory", "is not between 0 and 1048576", "set MiB, such as 2048, or 0 for no limit")
		}
		if s.CPU < 0 || s.CPU > 0 && s.CPU < time.Second {
			d.reject(path+".cpu", "is not at least 1s", "set a duration, such as 1h, or 0 for no limit")
		}
		d.checkTable(path+".headers", s.Headers, headerName)
		d.checkTable(path+".env", s.Env, variableName)
		if s.Timeout < time.Second || s.Timeout > longestCall {
			d.reject(path+".timeout", "is not between 1s and 15m", "set a duration, such as 1m")
		}
	}
	d.checkWebhooks(c.Tools)
	reject, s := sections.Reject(d.reject), c.Plugins.Web.Search
	reject.URL("plugins.web.search.url", s.URL)
	reject.Secret("plugins.web.search.key", s.Key, nil, "set the key alone, without spaces or line breaks")
	switch {
	case s.Provider == searXNG && s.URL == "":
		d.reject("plugins.web.search.provider", "has no url", "set plugins.web.search.url to your SearXNG server")
	case s.Provider != "" && s.Provider != searXNG && s.Key == "":
		d.reject("plugins.web.search.provider", "has no key", "set plugins.web.search.key, or SEARCH_API_KEY")
	}
}

// checkOAuth checks how the gateway logs in to a server.
func (d checker) checkOAuth(path string, s MCPServer, key Secret) {
	if !s.OAuth.Enabled {
		return
	}
	sections.Reject(d.reject).URL(path+".oauth.issuer", s.OAuth.Issuer)
	sections.Reject(d.reject).Secret(path+".oauth.client_secret", s.OAuth.ClientSecret, nil, "set the secret alone, without spaces or line breaks")
	raw, err := base64.StdEncoding.DecodeString(key.Reveal())
	switch {
	case s.URL == "":
		d.reject(path+".oauth.enabled", "has no effect without a url", "set url, or remove oauth")
	case s.OAuth.ClientSecret != "" && s.OAuth.ClientID == "":
		d.reject(path+".oauth.client_secret", "belongs to no client", "set client_id too")
	case key == "":
		d.reject("secret_key", "is missing, and an MCP server needs it for its login", "make one with: openssl rand -base64 32")
	case err != nil || len(raw) != secretKeySize:
		d.reject("secret_key", "is not 32 bytes in base64", "make one with: openssl rand -base64 32")
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			d.reject(path+".headers", "has an Authorization, which oauth sets", "remove one of them")
		}
	}
}

const secretKeySize = 32 // bytes: AES-256

var actionName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

func (d checker) checkWebhooks(all []WebhookTool) {
	for i, t := range all {
		path := fmt.Sprintf("tools[%d]", i)
		switch {
		case d.broken(path):
		case !actionName.MatchString(t.Name):
			d.reject(path+".name", "is not a name of at most 64 letters, digits and underscores", "for example ORDER_STATUS")
		case t.Description == "":
			d.reject(path+".description", "is empty", "tell the model what the tool does")
		case t.URL == "":
			d.reject(path+".url", "is empty", "set the address of your endpoint")
		}
		sections.Reject(d.reject).URL(path+".url", t.URL)
		d.checkTable(path+".headers", t.Headers, headerName)
		if t.Timeout < time.Second || t.Timeout > longestCall {
			d.reject(path+".timeout", "is not between 1s and 15m", "set a duration, such as 1m")
		}
	}
}

// checkTable rejects keys that could not be sent as they are.
func (d checker) checkTable(path string, table map[string]Secret, fit *regexp.Regexp) {
	for key, value := range table {
		if !fit.MatchString(key) {
			d.reject(path, "has an unusable name", "use letters, digits, and - or _")
		}
		for _, r := range value.Reveal() {
			if r < ' ' || r == 0x7f {
				d.reject(path, "has a value with a line break or control character", "check the file or variable that it comes from")
			}
		}
	}
}
