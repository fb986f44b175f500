package core

// Access says who is answered.
type Access struct {
	// Open names the connectors whose people need no invitation: those that look after that themselves.
	Open map[string]bool
	// People may write wherever the agent listens.
	People map[EntityID]bool
}

// invited says whether the agent works for the author of a message that came over connector.
func (a Access) invited(connector string, author EntityID) bool {
	return a.Open[connector] || a.People[author]
}

// heeds says whether m gets an answer, be it only the one line for strangers. It looks at no text: what the platform says
// of a message is all that counts (IN-14).
func (a Access) heeds(m Message) bool {
	switch {
	case m.Bot:
		return false // I13
	case m.Place.Kind.Private():
		return true
	}
	return m.Addressed && a.invited(m.Place.Connector, m.Author)
}

// strangerLine is all that somebody hears whom nobody invited.
const strangerLine = "Sorry, I only talk with people my owner has invited. If that is you, ask them to add you."
