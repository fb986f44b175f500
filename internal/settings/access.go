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
		Open: map[string]bool{web.Name: true}, Owners: set(cfg.People.Owners, Entity), Operator: web.Owner,
		Staff: members(cfg.People.Staff), Allowed: members(cfg.People.Allowed), Blocked: members(cfg.People.Blocked), Guests: places(c.Allow),
		Direct: access.DirectAccess(c.Direct), Group: access.GroupAccess(c.Group), Listen: places(c.Rooms),
		Always: places(c.Always.Rooms), Sources: set(c.Always.Sources, asWritten), Bots: access.BotAccess(c.Bots), Hours: cfg.People.Hours,
	}
	direct, page := cfg.SwitchDirect()
	a.Switch = access.SwitchPolicy{Direct: direct, Connectors: map[string]bool{web.Name: page}}
	for _, o := range c.Overrides {
		override := access.Override{RoomSet: places(o.Rooms), System: o.System, Tools: o.Tools, Model: o.Model, Hold: o.Hold, Users: set(o.Users, Entity)}
		if o.Group != nil {
			override.Group = access.GroupAccess(*o.Group)
		}
		a.Overrides = append(a.Overrides, override)
	}
	return a
}

// places returns a set of rooms and worlds. Ids of chats are compared as they are written, because connectors give them
// so; those of worlds have the form of the runtime.
func places(rooms []config.Chat) access.RoomSet {
	all := access.RoomSet{Chats: map[string]bool{}, Worlds: map[chat.WorldID]bool{}}
	for _, r := range rooms {
		if id, ok := r.Server(); ok {
			all.Worlds[chat.WorldID(slashed(id))] = true
		} else {
			all.Chats[string(r)] = true
		}
	}
	return all
}

// members returns a set of accounts and roles.
func members(list []config.Member) access.Members {
	all := access.Members{Accounts: map[chat.EntityID]bool{}, Roles: map[string]bool{}}
	for _, m := range list {
		if id, ok := m.Role(); ok {
			all.Roles[id] = true
		} else {
			all.Accounts[Entity(string(m))] = true
		}
	}
	return all
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

// DayLimits returns the costs allowed per day.
func DayLimits(cfg config.Config) quota.Limits {
	limits, open := dayLimits(cfg, cfg.Web.Public), dayLimits(cfg, true)
	limits.Public = &open
	return limits
}

func dayLimits(cfg config.Config, public bool) quota.Limits {
	person, room, total := cfg.DayLimits(public)
	return quota.Limits{Person: quota.Cost(person), Room: quota.Cost(room), Total: quota.Cost(total),
		Soft: quota.Soft{Person: cfg.Limits.Person.SoftUSD, Room: cfg.Limits.Room.SoftUSD, Total: cfg.Limits.Total.SoftUSD}, Zone: cfg.Zone()}
}
