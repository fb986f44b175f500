package access

import "parley/core/chat"

// SwitchPolicy says who can choose the model that answers in a room, besides the owner. The zero value allows no user.
type SwitchPolicy struct {
	Users      map[chat.EntityID]bool // in every room where they give commands
	Direct     bool                   // every user, in direct chats
	Connectors map[string]bool        // every user, in direct chats of these connectors
}

// Allows reports whether author can choose the model of r.
func (p SwitchPolicy) Allows(r chat.Room, author chat.EntityID) bool {
	return p.Users[author] || r.Kind.Private() && (p.Direct || p.Connectors[r.Connector])
}

// ModelFor returns the name of the model that the overrides give to author in r: their own, else that of the room. Empty means
// the default one.
func (a Policy) ModelFor(r chat.Room, author chat.EntityID) string {
	for _, o := range a.Overrides {
		if o.Users[author] && o.Model != "" {
			return o.Model
		}
	}
	return a.OverrideFor(r).Model
}
