package core

import (
	"context"

	"parley/core/chat"
)

// People knows whom the owner has let in, who waits for it, and who the owner is where the configuration names none.
type People interface {
	// Person returns an approved user, or [chat.ErrNotFound].
	Person(ctx context.Context, id chat.EntityID) (chat.Person, error)
	// People returns all who were let in, in the order in which that happened.
	People(ctx context.Context) ([]chat.Person, error)
	// LetIn stores p, who then knocks no more. It makes no owner, and an owner stays one.
	LetIn(ctx context.Context, p chat.Person) error
	// Owner returns the owner, or [chat.ErrNotFound].
	Owner(ctx context.Context) (chat.Person, error)
	// Own makes p the owner, once: it is false if there is one. No request for an owner is open any more.
	Own(ctx context.Context, p chat.Person) (bool, error)
	// Dismiss forgets a user who is approved or waits for approval. [chat.ErrNotFound] if there is none.
	Dismiss(ctx context.Context, id chat.EntityID) error
	// TurnAway has who was told code wait no more: until their knock ends they are told nothing. [chat.ErrNotFound] if no
	// waits with that code.
	TurnAway(ctx context.Context, code string) error
	// Knock returns the knock of k.ID, which is k if that ID has no open request, and whether they may be told of it now;
	// that is then noted. Where as many wait as may, it is a zero one, and that of who was turned away has no code.
	// Knocks that have ended are forgotten.
	Knock(ctx context.Context, k chat.PairingRequest, r chat.PairingRule) (waiting chat.PairingRequest, tell bool, err error)
	// Knocks returns those that have not ended and were not turned away, in the order of Since.
	Knocks(ctx context.Context) ([]chat.PairingRequest, error)
}
