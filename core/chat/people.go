package chat

import "time"

// Person is somebody whom the owner has let in, or the owner.
type Person struct {
	ID      EntityID
	Name    string  // as it was shown then
	Address Address // of the direct chat with them
	Owner   bool
	Since   time.Time
}

// PairingRequest is somebody's wish to be let in. One without an ID waits for the owner themselves.
type PairingRequest struct {
	Person
	Code string    // whoever brings it to the owner may be let in
	Ends time.Time // from then on the code is worth nothing; zero is never
	Told time.Time // when they were told the code last
}

// PairingRule says how knocks are taken.
type PairingRule struct {
	Limit       int           // how many of one connector may wait at a time
	RepeatAfter time.Duration // after which they may be told their code once more
}
