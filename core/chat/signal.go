package chat

// Status is the state of a question that a platform can show at the message itself, such as by a reaction.
type Status string

// The states.
const (
	NoStatus Status = ""          // nothing is shown
	Waiting  Status = "waiting"   // it waits for other answers
	Working  Status = "working"   // it is being answered
	NoAccess Status = "no access" // it is not answered, because its author has no access
)

// Signal is a change of the status of messages in one place.
type Signal struct {
	To       Address
	Messages []MemoryID
	Was, Is  Status
}
