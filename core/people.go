package core

import (
	"context"
	"time"
)

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

// People knows whom the owner has let in, who waits for it, and who the owner is where the configuration names none.
type People interface {
	// Person returns somebody who was let in, or [ErrNotFound].
	Person(ctx context.Context, id EntityID) (Person, error)
	// People returns all who were let in, in the order in which that happened.
	People(ctx context.Context) ([]Person, error)
	// LetIn stores p, who then knocks no more. An owner stays the owner, nobody becomes it.
	LetIn(ctx context.Context, p Person) error
	// Owner returns the owner, or [ErrNotFound].
	Owner(ctx context.Context) (Person, error)
	// Own makes p the owner, once: it is false if there is one. Nobody waits for an owner any more.
	Own(ctx context.Context, p Person) (bool, error)
	// Dismiss forgets somebody who was let in, or waits for it. [ErrNotFound] if there is nobody.
	Dismiss(ctx context.Context, id EntityID) error
	// TurnAway has who was told code wait no more: until their knock ends they are told nothing. [ErrNotFound] if nobody
	// waits with that code.
	TurnAway(ctx context.Context, code string) error
	// Knock returns the knock of k.ID, which is k if nobody with that ID waited, and whether they may be told of it now;
	// that is then noted. Where as many wait as may, it is a zero one, and that of who was turned away has no code.
	// Knocks that have ended are forgotten.
	Knock(ctx context.Context, k PairingRequest, r PairingRule) (waiting PairingRequest, tell bool, err error)
	// Knocks returns those that have not ended and were not turned away, in the order of Since.
	Knocks(ctx context.Context) ([]PairingRequest, error)
}
