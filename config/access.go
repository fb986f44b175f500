package config

import (
	"fmt"
	"slices"
	"strings"
)

// Switch defines who can choose the model of a chat, besides the owner.
type Switch struct {
	// Accounts, in the same form as owner: in every chat.
	Users []Account `yaml:"users"`
	// Everyone in direct messages and in the web chat, each for their own conversation: true or false. auto = only in the web chat, and
	// only without web.public.
	Direct *bool `yaml:"direct"`
}

// SwitchDirect reports whether everyone can choose the model in direct messages, and whether in the web chat.
func (c Config) SwitchDirect() (direct, web bool) {
	if d := c.Models.Switch.Direct; d != nil {
		return *d, *d
	}
	return false, !c.Web.Public
}

// checkOverrides requires each override to apply to something, and its model to exist.
func (d checker) checkOverrides(c *Config) {
	var names []string
	for _, m := range c.Models.Chat {
		names = append(names, m.Name)
	}
	for i, o := range c.Access.Overrides {
		path := fmt.Sprintf("access.overrides[%d]", i)
		rooms := len(o.Rooms)+len(o.Worlds) > 0
		switch {
		case d.broken(path):
		case !rooms && len(o.Users) == 0:
			d.reject(path, "applies to no room", "set rooms or worlds")
		case rooms && len(o.Users) > 0:
			d.reject(path+".users", "is set beside rooms or worlds", "write two overrides")
		case len(o.Users) > 0 && (o.Group != nil || o.System != "" || len(o.Tools) > 0 || o.Model == ""):
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
	// The allowlist: who can talk to the agent without approval.
	Allow Allow `yaml:"allow"`
	// The groups and channels where the agent answers, in the same form. A Discord channel includes its threads.
	// If rooms and worlds are both empty: everywhere.
	Rooms []Chat `yaml:"rooms"`
	// The Discord servers where the agent answers, with all their channels.
	Worlds []World `yaml:"worlds"`
	// Messages in groups that are answered without a mention, if the author can talk to the agent.
	Always Always `yaml:"always"`
	// Other bots, if allowed like users: mention = answer mentions and replies, at most three in a row until a person writes,
	// and at most 20 a minute; off = answer nothing.
	Bots BotAccess `yaml:"bots" default:"off"`
	// Overrides for some rooms or worlds, each with any of: group, as above; system, a system prompt instead of agent.system;
	// tools, the only actions that can be used there; model, one of models.chat that answers there. Such as
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

// Allow is the allowlist.
type Allow struct {
	// Accounts, in the same form as owner.
	Users []Account `yaml:"users"`
	// Roles on Discord, such as ["discord:80351110224678912"]: everyone with the role, on its server.
	Roles []Role `yaml:"roles"`
	// Groups and channels, such as ["discord:80351110224678912", "telegram:-1001234567890"]: everyone who writes there.
	Rooms []Chat `yaml:"rooms"`
	// Discord servers: everyone who writes there.
	Worlds []World `yaml:"worlds"`
}

// Always lists the messages that are answered without a mention.
type Always struct {
	// Groups and channels, in the same form: every message there.
	Rooms []Chat `yaml:"rooms"`
	// Sources of messages sent through the API, by their exact name: every message from them.
	Sources []string `yaml:"sources" default:"client_chat, api, postman"`
}

// Override changes the rules in some rooms or worlds.
type Override struct {
	// The groups and channels that it applies to.
	Rooms []Chat `yaml:"rooms"`
	// The servers that it applies to.
	Worlds []World `yaml:"worlds"`
	// The messages that are answered there: one of the values of access.group. auto = as everywhere.
	Group *GroupAccess `yaml:"group"`
	// The system prompt there, instead of agent.system. Empty = agent.system.
	System string `yaml:"system"`
	// The only actions that can be used there, by name. Empty = all.
	Tools []string `yaml:"tools"`
	// The model that answers there, by its name in models.chat. Empty = the first one. A model chosen with /model takes precedence.
	Model string `yaml:"model"`
	// Instead of rooms and worlds: the accounts that the model answers wherever they write. It takes precedence over that of the room.
	Users []Account `yaml:"users"`
}
