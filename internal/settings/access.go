package settings

import (
	"strings"

	"parley/config"
	"parley/connectors/web"
	"parley/core/access"
	"parley/core/chat"
	"parley/core/quota"
)

// Access returns the rules of access. The web chat is open to everyone who can reach it, because it has limits of its
// own.
func Access(cfg config.Config) access.Policy {
	c := cfg.Access
	a := access.Policy{
		Open: map[string]bool{web.Name: true}, Owners: set(cfg.Owner, Entity), Operator: web.Owner,
		People: set(c.Allow.Users, Entity), Roles: set(c.Allow.Roles, asWritten), Guests: places(c.Allow.Rooms, c.Allow.Worlds),
		Direct: access.DirectAccess(c.Direct), Group: access.GroupAccess(c.Group), Listen: places(c.Rooms, c.Worlds),
		Always: places(c.Always.Rooms, nil), Sources: set(c.Always.Sources, asWritten), Bots: access.BotAccess(c.Bots),
	}
	direct, page := cfg.SwitchDirect()
	a.Switch = access.SwitchPolicy{Users: set(cfg.Models.Switch.Users, Entity), Direct: direct, Connectors: map[string]bool{web.Name: page}}
	for _, o := range c.Overrides {
		override := access.Override{RoomSet: places(o.Rooms, o.Worlds), System: o.System, Tools: o.Tools, Model: o.Model, Users: set(o.Users, Entity)}
		if o.Group != nil {
			override.Group = access.GroupAccess(*o.Group)
		}
		a.Overrides = append(a.Overrides, override)
	}
	return a
}

// places returns a set of rooms and worlds. Ids of chats are compared as they are written, because connectors give them
// so; those of worlds have the form of the runtime.
func places(rooms []config.Chat, worlds []config.World) access.RoomSet {
	return access.RoomSet{
		Chats:  set(rooms, asWritten),
		Worlds: set(worlds, func(id string) chat.WorldID { return chat.WorldID(slashed(id)) }),
	}
}

// set returns the set of the elements of a list.
func set[T ~string, K comparable](list []T, key func(string) K) map[K]bool {
	all := make(map[K]bool, len(list))
	for _, e := range list {
		all[key(string(e))] = true
	}
	return all
}

func asWritten(id string) string { return id }

// Entity returns the id that connectors give to an account of the configuration.
func Entity(account string) chat.EntityID { return chat.EntityID(slashed(account)) }

// slashed turns "platform:id" into "platform/id", the form of ids in the runtime.
func slashed(id string) string { return strings.Replace(id, ":", "/", 1) }

// Spenders returns who may let answers go beyond a soft limit of money.
func Spenders(cfg config.Config) map[chat.EntityID]bool { return set(cfg.Limits.Approvers, Entity) }

// DayLimits returns the costs allowed per day.
func DayLimits(cfg config.Config) quota.Limits {
	person, room, total := cfg.DayLimits()
	return quota.Limits{Person: quota.Cost(person), Room: quota.Cost(room), Total: quota.Cost(total),
		Soft: quota.Soft{Person: cfg.Limits.Person.SoftUSD, Room: cfg.Limits.Room.SoftUSD, Total: cfg.Limits.Total.SoftUSD}, Zone: cfg.Limits.Zone()}
}
