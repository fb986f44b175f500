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

// PersonalData reads and deletes what is stored about a person. A person's own chats are the direct ones, and those of the API, in which
// no other person has written.
type PersonalData interface {
	// PersonalRecords returns the next records about a person, from where a page before ended; from the beginning if after is empty. They are
	// what stands in their own chats, and elsewhere what they wrote, the answers to that, and what names their account. A page
	// holds records of one section.
	PersonalRecords(ctx context.Context, person chat.EntityID, after string) (chat.PersonalPage, error)
	// DeletePersonal deletes a bounded part of what is stored about a person, and reports what that was. Called until there is no more, it
	// deletes what PersonalRecords returns, and all that is derived from it: their own chats are cleared entirely, elsewhere their
	// messages are forgotten as by [Memories.Forget], and replies to them don't quote them any more. Answers to others stay.
	// Open runs lose their inputs, so that nothing comes of them, and parked ones are woken to end.
	DeletePersonal(ctx context.Context, person chat.EntityID) (chat.PersonalDeletion, error)
}
