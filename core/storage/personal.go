package storage

import (
	"context"

	"parley/core/chat"
)

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
