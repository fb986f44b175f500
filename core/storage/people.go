package storage

import (
	"context"

	"parley/core/chat"
)

// People stores approved users, requests for approval, and the owner where the configuration names none.
type People interface {
	// Person returns an approved user, or [chat.ErrNotFound].
	Person(ctx context.Context, id chat.EntityID) (chat.Person, error)
	// People returns all approved users, in the order of approval.
	People(ctx context.Context) ([]chat.Person, error)
	// Approve stores p as approved, and removes their request. It makes no owner, and an owner stays one.
	Approve(ctx context.Context, p chat.Person) error
	// Owner returns the owner, or [chat.ErrNotFound].
	Owner(ctx context.Context) (chat.Person, error)
	// Own makes p the owner, once: it is false if there is one. No request for an owner is open any more.
	Own(ctx context.Context, p chat.Person) (bool, error)
	// Dismiss forgets a user who is approved or waits for approval. [chat.ErrNotFound] if there is none.
	Dismiss(ctx context.Context, id chat.EntityID) error
	// Reject takes the code from a request: its user is told nothing until it ends. [chat.ErrNotFound] if no request has code.
	Reject(ctx context.Context, code string) error
	// RequestPairing returns the open request of k.ID, or else stores k, and reports whether the user can be told of it now, which
	// is then noted. If r.Limit requests are open it returns a zero one. A rejected one has no code. Requests that have ended are
	// removed.
	RequestPairing(ctx context.Context, k chat.PairingRequest, r chat.PairingRule) (waiting chat.PairingRequest, tell bool, err error)
	// PairingRequests returns those that have not ended and were not rejected, in the order of Since.
	PairingRequests(ctx context.Context) ([]chat.PairingRequest, error)
}
