package access

import (
	"slices"

	"parley/core/chat"
)

// Policy says who is answered where, as far as the configuration does; whom the owner lets in is in the store. Its zero
// value invites nobody.
type Policy struct {
	// Open names the connectors whose people need no invitation: those that look after that themselves.
	Open map[string]bool
	// Owners let others in. Where there is none, the owner is whoever brings the owner's code first.
	Owners map[chat.EntityID]bool
	// People may write wherever the agent listens, and so may who has one of Roles, as "connector:id" with the platform's
	// own id, and who writes in one of Guests.
	People map[chat.EntityID]bool
	Roles  map[string]bool
	Guests RoomSet
	Direct DirectAccess
	Group  GroupAccess
	// Listen is where the agent listens, beside private rooms. None means everywhere.
	Listen RoomSet
	// Always and Sources say what is answered in groups without being addressed to the agent: all that is said in some
	// places, and all that comes from some [chat.Message].
	Always  RoomSet
	Sources map[string]bool
	Bots    BotAccess
	// Overrides hold for some places. Of several for a room, the one for its smallest chat counts, and a world's last.
	Overrides []Override
}

// RoomSet are chats, as "connector:id" with the platform's own id, and whole worlds.
type RoomSet struct {
	Chats  map[string]bool
	Worlds map[chat.WorldID]bool
}

// Override is what is different in some places.
type Override struct {
	RoomSet
	Group  GroupAccess // empty: as elsewhere
	System string      // stands in place of the agent's; empty: as elsewhere
	Tools  []string    // the names of the actions that may be used there; nil: all
}

// BotAccess says what bots get answered, if they are invited as people are. Without a word it is BotsOff.
type BotAccess string

// What of bots is answered.
const (
	BotsOff     BotAccess = "off"     // nothing (I13)
	BotsMention BotAccess = "mention" // what is addressed to the agent, in groups, and within limits (IN-05)
)

// IsAlways says that m is answered whoever it is meant for.
func (a Policy) IsAlways(m chat.Message) bool {
	return a.Always.hold(m.Place) || m.Source != "" && a.Sources[m.Source]
}

// DirectAccess says who is answered in private.
type DirectAccess string

// Who is answered in private, beside those who are invited or let in. Without a word it is DirectAllowlist.
const (
	DirectOpen      DirectAccess = "open"      // everybody
	DirectAllowlist DirectAccess = "allowlist" // nobody; others hear why not, once
	DirectPairing   DirectAccess = "pairing"   // nobody; others hear a code with which the owner can let them in
	DirectOff       DirectAccess = "off"       // nobody at all
)

// GroupAccess says what of a group is answered, if somebody who is invited has written it.
type GroupAccess string

// What of a group is answered. Without a word it is GroupMentionOnly.
const (
	GroupMentionOnly GroupAccess = "mention_only" // what is addressed to the agent
	GroupAmbient     GroupAccess = "ambient"      // that, and what seems to be meant for it
	GroupOff         GroupAccess = "off"          // nothing
)

// none says that nothing is listed.
func (p RoomSet) none() bool { return len(p.Chats)+len(p.Worlds) == 0 }

// hold says whether r is listed, or a part of what is.
func (p RoomSet) hold(r chat.Room) bool {
	for _, id := range r.Chats {
		if p.Chats[r.Connector+":"+id] {
			return true
		}
	}
	return r.World != "" && p.Worlds[r.World]
}

// OverrideFor is what is different in r.
func (a Policy) OverrideFor(r chat.Room) Override {
	for _, id := range r.Chats {
		for _, o := range a.Overrides {
			if o.Chats[r.Connector+":"+id] {
				return o
			}
		}
	}
	for _, o := range a.Overrides {
		if r.World != "" && o.Worlds[r.World] {
			return o
		}
	}
	return Override{}
}

// GroupIn is what is answered in r, which is not private.
func (a Policy) GroupIn(r chat.Room) GroupAccess {
	if o := a.OverrideFor(r); o.Group != "" {
		return o.Group
	}
	return a.Group
}

// Off says whether the agent works for nobody in r.
func (a Policy) Off(r chat.Room) bool {
	switch {
	case a.Open[r.Connector]:
		return false
	case r.Kind.Private():
		return a.Direct == DirectOff
	}
	return a.GroupIn(r) == GroupOff || !a.Listen.none() && !a.Listen.hold(r)
}

// Decide says whether the agent works for author in r; maybe means, if the owner has let them in. It looks at no text:
// what the platform says is all that counts (IN-14).
func (a Policy) Decide(r chat.Room, author chat.EntityID, roles []string) Decision {
	switch {
	case a.Open[r.Connector]:
		return Yes
	case a.Off(r):
		return No
	case r.Kind.Private() && a.Direct == DirectOpen, a.Owners[author], a.People[author], a.Guests.hold(r):
		return Yes
	}
	if a.HasRole(r, roles) {
		return Yes
	}
	return Maybe
}

// HasRole says whether one of an author's roles in r is listed.
func (a Policy) HasRole(r chat.Room, roles []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return a.Roles[r.Connector+":"+role] })
}
