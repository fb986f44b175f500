package chat

// Notice is a message of the agent's own: nobody needs to have asked for it.
type Notice struct {
	// To is where it is said. A room alone is enough, if people have written there: then that is where it was last
	// reached, or the place of the message that is replied to.
	To   Address
	Text string
	// Key makes a notice the same as an earlier one of its room, which is then not said again. Without a key it is new.
	Key string
	// Ask is what people are asked with it; nil if nothing.
	Ask *Question
}
