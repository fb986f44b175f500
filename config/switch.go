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

// isDefaultName reports whether a name means the default model where people choose one.
func isDefaultName(name string) bool { return strings.EqualFold(name, "default") }
