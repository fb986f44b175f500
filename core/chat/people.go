package chat

import "time"

// Person is the owner or a user with the owner's approval.
type Person struct {
	ID      EntityID
	Name    string  // their display name at that time
	Address Address // their direct chat
	Owner   bool
	Since   time.Time
}

// PairingRequest is a user's request for approval. One without an ID is reserved for the future owner.
type PairingRequest struct {
	Person
	Code string    // the pairing code; the owner approves the user by sending it
	Ends time.Time // when the code expires; zero for never
	Told time.Time // when they last received the code
}

// PairingRule limits pairing requests.
type PairingRule struct {
	Limit       int           // maximum number of pending requests per connector
	RepeatAfter time.Duration // when a user can receive the code again
}
