package parley

import (
	"strings"

	"parley/config"
	"parley/connectors/web"
	"parley/core/access"
	"parley/core/chat"
	"parley/core/quota"
)

// accessPolicy opens the web chat, which has limits of its own, and says what the configuration allows.
func accessPolicy(cfg config.Config) access.Policy {
	c := cfg.Access
	a := access.Policy{
		Open: map[string]bool{web.Name: true}, Owners: set(cfg.Owner, entity),
		People: set(c.Allow.Users, entity), Roles: set(c.Allow.Roles, asWritten), Guests: places(c.Allow.Rooms, c.Allow.Worlds),
		Direct: access.DirectAccess(c.Direct), Group: access.GroupAccess(c.Group), Listen: places(c.Rooms, c.Worlds),
		Always: places(c.Always.Rooms, nil), Sources: set(c.Always.Sources, asWritten), Bots: access.BotAccess(c.Bots),
	}
	for _, o := range c.Overrides {
		override := access.Override{RoomSet: places(o.Rooms, o.Worlds), System: o.System, Tools: o.Tools}
		if o.Group != nil {
			override.Group = access.GroupAccess(*o.Group)
		}
		a.Overrides = append(a.Overrides, override)
	}
	return a
}

func places(rooms []config.Chat, worlds []config.World) access.RoomSet {
	return access.RoomSet{
		Chats:  set(rooms, asWritten),
		Worlds: set(worlds, func(id string) chat.WorldID { return chat.WorldID(slashed(id)) }),
	}
}

// set makes a set of a list.
func set[T ~string, K comparable](list []T, key func(string) K) map[K]bool {
	all := make(map[K]bool, len(list))
	for _, e := range list {
		all[key(string(e))] = true
	}
	return all
}

func asWritten(id string) string { return id }

// entity is an account as connectors know it.
func entity(account string) chat.EntityID { return chat.EntityID(slashed(account)) }

// slashed turns "platform:id" into what connectors make of it.
func slashed(id string) string { return strings.Replace(id, ":", "/", 1) }

// dayLimits are what a day may cost.
func dayLimits(cfg config.Config) quota.Limits {
	person, room, total := cfg.DayLimits()
	return quota.Limits{Person: quota.Cost(person), Room: quota.Cost(room), Total: quota.Cost(total), Zone: cfg.Limits.Zone()}
}
