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
	// Approve stores p as approved and deletes their request. It never makes p the owner, and an owner remains the owner.
	Approve(ctx context.Context, p chat.Person) error
	// Owner returns the owner, or [chat.ErrNotFound].
	Owner(ctx context.Context) (chat.Person, error)
	// SetOwner makes p the owner if there is none, and reports whether it did. It closes all requests for an owner.
	SetOwner(ctx context.Context, p chat.Person) (bool, error)
	// RemoveUser deletes an approved user, or the request of a user. It fails with [chat.ErrNotFound] if there is neither.
	RemoveUser(ctx context.Context, id chat.EntityID) error
	// Reject deletes the code of a request; the user receives no other code until the request has expired. It fails with
	// [chat.ErrNotFound] if no request has this code.
	Reject(ctx context.Context, code string) error
	// RequestPairing returns the open request of k.ID, or stores k if there is none. It also deletes expired requests.
	// tell reports whether the user can receive the code now, and Told is then updated.
	//
	//	state                          waiting
	//	k.ID has an open request       that request
	//	k.ID has a rejected request    that request, without a code
	//	r.Limit requests are open      a zero request
	//	otherwise                      k
	RequestPairing(ctx context.Context, k chat.PairingRequest, r chat.PairingRule) (waiting chat.PairingRequest, tell bool, err error)
	// PairingRequests returns the requests that have neither expired nor been rejected, in the order of Since.
	PairingRequests(ctx context.Context) ([]chat.PairingRequest, error)
}

// Transcripts lists rooms and reads all stored data of one.
type Transcripts interface {
	// ListRooms returns at most limit rooms with messages of users, that with the newest one first. The room's id or name, or the name of
	// the author of that message, contains part, regardless of case.
	ListRooms(ctx context.Context, part string, limit int) ([]chat.ListedRoom, error)
	// RoomRecords returns a page of the stored data of a room, like [PersonalData.PersonalRecords]. The messages are in the order
	// of their arrival. A room that is not stored has no records.
	RoomRecords(ctx context.Context, room chat.RoomID, after string) (chat.PersonalPage, error)
}

// PersonalData reads and deletes the stored data about a person. A person's own chats are the direct chats and the chats of
// the API where no other person has written.
type PersonalData interface {
	// PersonalRecords returns the next page of the records about a person: after is the Next of the previous page, or empty
	// for the first one. The records are the content of the person's own chats and, in other chats, their messages, the
	// answers to these, and records that name their account. A page holds records of one section.
	PersonalRecords(ctx context.Context, person chat.EntityID, after string) (chat.PersonalPage, error)
	// DeletePersonal deletes a bounded part of the data about a person and returns a report of it. Repeated until there is no
	// more, it deletes everything that PersonalRecords returns and all data derived from it:
	//
	//	data                                 effect
	//	the person's own chats               cleared, as by [Memories.ClearEntirely]
	//	their messages in other chats        deleted, as by [Memories.Forget]
	//	replies to these messages            keep their text and lose the quotation
	//	answers to other users               unchanged
	//	open runs                            lose their inputs, so that they produce no answer
	//	parked runs                          also woken, to end
	DeletePersonal(ctx context.Context, person chat.EntityID) (chat.PersonalDeletion, error)
}
