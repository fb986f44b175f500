package access

// Decision is the outcome of an access check for a message.
type Decision uint8

// The decisions.
const (
	No          Decision = iota // the message is not answered
	ContextOnly                 // it starts no turn, but can continue the author's previous message
	Yes                         // answered by rule, without asking a model: its turn can be claimed at once
	Maybe                       // a model decides when the message's turn comes
)
