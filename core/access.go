package core

// Access says who is answered where. Its zero value invites nobody.
type Access struct {
	// Open names the connectors whose people need no invitation: those that look after that themselves.
	Open map[string]bool
	// People may write wherever the agent listens.
	People map[EntityID]bool
	// Owners are those of People whom the agent belongs to: what changes the agent itself is for them alone.
	Owners map[EntityID]bool
	Direct DirectAccess
	Group  GroupAccess
	// Chats are those where the agent listens, beside private ones, as "connector:id" with the platform's own id. Empty
	// means all.
	Chats map[string]bool
}

// DirectAccess says who is answered in private.
type DirectAccess string

// Who is answered in private. Without a word it is DirectAllowlist.
const (
	DirectOpen      DirectAccess = "open"      // everybody
	DirectAllowlist DirectAccess = "allowlist" // People; others hear why not, once
	DirectOff       DirectAccess = "off"       // nobody
)

// GroupAccess says what of a group is answered, if somebody of People has written it.
type GroupAccess string

// What of a group is answered. Without a word it is GroupMentionOnly.
const (
	GroupMentionOnly GroupAccess = "mention_only" // what is addressed to the agent
	GroupAmbient     GroupAccess = "ambient"      // that, and what seems to be meant for it
	GroupOff         GroupAccess = "off"          // nothing
)

// invited says whether the agent works for author in rooms of kind.
func (a Access) invited(connector string, kind RoomKind, author EntityID) bool {
	switch {
	case a.Open[connector]:
		return true
	case a.off(kind):
		return false
	case kind.Private() && a.Direct == DirectOpen:
		return true
	}
	return a.People[author]
}

// off says whether the agent works for nobody in rooms of kind.
func (a Access) off(kind RoomKind) bool {
	if kind.Private() {
		return a.Direct == DirectOff
	}
	return a.Group == GroupOff
}

// admits says whether m may get an answer, be it only the one line for strangers. It looks at no text: what the platform
// says of a message is all that counts (IN-14).
func (a Access) admits(m Message) bool {
	kind, connector := m.Place.Kind, m.Place.Connector
	switch {
	case m.Bot:
		return false // I13
	case kind.Private():
		return a.Open[connector] || !a.off(kind)
	}
	return a.listens(connector, m.Chats) && a.invited(connector, kind, m.Author)
}

// listens says whether one of chats is listed.
func (a Access) listens(connector string, chats []string) bool {
	for _, id := range chats {
		if a.Chats[connector+":"+id] {
			return true
		}
	}
	return len(a.Chats) == 0
}

// strangerLine is all that somebody hears whom nobody invited.
const strangerLine = "Sorry, I only talk with people my owner has invited. If that is you, ask them to add you."
