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

// decision is what the rules alone say of a message.
type decision uint8

const (
	ignore  decision = iota // remember it
	respond                 // answer it
	refuse                  // tell a stranger, once, that nobody answers
)

// decide looks at no text: what the platform says of a message is all that counts (IN-14).
func (a Access) decide(m Message) decision {
	invited := a.invited(m.Place.Connector, m.Author)
	switch {
	case m.Bot:
		return ignore // I13
	case m.Place.Kind.Private() && invited, m.Addressed && invited:
		return respond
	case m.Place.Kind.Private():
		return refuse
	}
	return ignore
}

// strangerLine is all that somebody hears whom nobody invited.
const strangerLine = "Sorry, I only talk with people my owner has invited. If that is you, ask them to add you."
