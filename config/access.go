package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/internal/quiethours"
)

// People lists accounts, and roles of a Discord server.
type People struct {
	// They do everything, such as ["telegram:123456789", "discord:80351110224678912"]. Only accounts, always in quotes.
	// Empty = the first account that sends a bot the code that the log and "gateway pair --list" show.
	Owners []Account `yaml:"owners"`
	// They talk to the agent, approve single tool calls, let answers go beyond soft_usd, block users and switch models, but
	// configure nothing. Such as ["discord:80351110224678912", "discord:role:80351110224678912"].
	Staff []Member `yaml:"staff"`
	// They talk to the agent, without approval.
	Allowed []Member `yaml:"allowed"`
	// They are never answered, and nothing of them is stored. Owners and staff can also block with /block.
	Blocked []Member `yaml:"blocked"`
	// When owners and staff take over conversations, in the time zone of timezone, such as ["Mon-Fri 09:00-17:00", "Sat 10:00-14:00"].
	// At other times /person offers a form that leaves a message. Empty = always.
	Hours []string `yaml:"hours"`
}

// checkPeople requires that no owner is blocked, and no member of the staff.
func (d checker) checkPeople(p People) {
	for i, h := range p.Hours {
		if _, err := quiethours.Within(h, time.Now()); err != nil {
			d.reject(fmt.Sprintf("people.hours[%d]", i), "are not hours of days of the week", `write them such as "Mon-Fri 09:00-17:00"`)
		}
	}
	for i, m := range p.Blocked {
		path := fmt.Sprintf("people.blocked[%d]", i)
		if slices.Contains(p.Owners, Account(m)) {
			d.reject(path, "is also in people.owners", "remove it from one of them")
		} else if slices.Contains(p.Staff, m) {
			d.reject(path, "is also in people.staff", "remove it from one of them")
		}
	}
}

// SwitchDirect reports whether everyone can choose the model in direct messages, and whether in the web chat.
func (c Config) SwitchDirect() (direct, web bool) {
	if d := c.Models.Switch; d != nil {
		return *d, *d
	}
	return false, !c.Web.Public
}

// checkOverrides requires each override to apply to something, and its model to exist. No whole platform is open to everyone.
func (d checker) checkOverrides(c *Config) {
	for i, in := range c.Access.Allow {
		if !strings.Contains(string(in), ":") {
			d.reject(fmt.Sprintf("access.allow[%d]", i), "is a whole platform, where anyone could write to the agent", "name groups, channels or servers")
		}
	}
	var names []string
	for _, m := range c.Models.Chat {
		names = append(names, m.Name)
	}
	for i, o := range c.Access.Overrides {
		path := fmt.Sprintf("access.overrides[%d]", i)
		rooms := len(o.Rooms) > 0
		switch {
		case d.broken(path):
		case !rooms && len(o.Users) == 0:
			d.reject(path, "applies to no room", "set rooms")
		case rooms && len(o.Users) > 0:
			d.reject(path+".users", "is set beside rooms", "write two overrides")
		case len(o.Users) > 0 && (o.Group != nil || o.System != "" || len(o.Tools) > 0 || o.Hold || o.Model == ""):
			d.reject(path, "is for users, and has more than a model, or none", "set users and model alone")
		case o.Model != "" && len(names) == 0:
			d.reject(path+".model", "is the name of a model, and models.chat has none", "list the models in models.chat")
		case o.Model != "" && !slices.Contains(names, o.Model):
			d.reject(path+".model", "is not the name of a model in models.chat", d.nearestOf("models", o.Model, names))
		}
	}
}

// isDefaultName reports whether a name means the default model where users choose one.
func isDefaultName(name string) bool { return strings.EqualFold(name, "default") }

// Access defines who can talk to the bots, and where.
type Access struct {
	// Direct messages from unknown users:
	//   pairing   = they get a code, and the owner is asked in a direct message whether to approve them. The owner
	//               can also send the code to the bot, or run "gateway pair CODE". Without an owner, no one can
	//               be approved.
	//   allowlist = they are told once that they have no access
	//   open      = everyone is answered, at your expense
	//   off       = no direct messages are answered
	Direct DirectAccess `yaml:"direct" default:"pairing"`
	// Groups, for allowed and approved users: mention_only = answer mentions and replies; ambient = also answer messages that
	// begin with its name or that the model judges to be meant for it (one short call per message); off = answer nothing.
	Group GroupAccess `yaml:"group" default:"mention_only"`
	// Groups, channels and Discord servers where everyone can talk to the agent without approval, such as
	// ["discord:80351110224678912", "telegram:-1001234567890", "discord:server:80351110224678912"]. People are in people.allowed.
	Allow []Chat `yaml:"allow"`
	// The only groups, channels and servers where the agent answers, in the same form. A channel includes its threads, and a server its
	// channels. Empty = everywhere.
	Rooms []Chat `yaml:"rooms"`
	// Messages in groups that are answered without a mention, if the author can talk to the agent.
	Always Always `yaml:"always"`
	// Other bots, if allowed like users: mention = answer mentions and replies, at most three in a row until a person writes,
	// and at most 20 a minute; off = answer nothing.
	Bots BotAccess `yaml:"bots" default:"off"`
	// Overrides for some rooms or servers, each with any of: group, as above; system, a system prompt instead of agent.system;
	// tools, the only actions that can be used there; model, one of models.chat that answers there; hold, so that owners and staff check
	// answers before users see them. "telegram" are all chats there, and "web" is the page with all its visitors. Such as
	//   - rooms: ["discord:80351110224678912"]
	//     group: ambient
	//     system: You help with the homework of the seventh class.
	//     tools: []
	// Or a model for some users, wherever they write:
	//   - users: ["telegram:123456789"]
	//     model: fast
	// An override for a thread or channel takes precedence over one for its server.
	Overrides []Override `yaml:"overrides"`
}

// Always lists the messages that are answered without a mention.
type Always struct {
	// Groups, channels and servers, in the same form: every message there.
	Rooms []Chat `yaml:"rooms"`
	// Sources of messages sent through the API, by their exact name: every message from them.
	Sources []string `yaml:"sources" default:"client_chat, api, postman"`
}

// Override changes the rules in some rooms or servers.
type Override struct {
	// The groups, channels and servers that it applies to.
	Rooms []Chat `yaml:"rooms"`
	// The messages that are answered there: one of the values of access.group. auto = as everywhere.
	Group *GroupAccess `yaml:"group"`
	// The system prompt there, instead of agent.system. Empty = agent.system.
	System string `yaml:"system"`
	// The only actions that can be used there, by name. Empty = all.
	Tools []string `yaml:"tools"`
	// The model that answers there, by its name in models.chat. Empty = the first one. A model chosen with /model takes precedence.
	Model string `yaml:"model"`
	// Answers to users other than owners and staff wait there until one of these has sent, edited or discarded them; for turns.approval at
	// most.
	Hold bool `yaml:"hold"`
	// Instead of rooms: the accounts that the model answers wherever they write. It takes precedence over that of the room.
	Users []Account `yaml:"users"`
}
