package storage

import (
	"context"
	"time"

	"parley/core/chat"
)

// WordIndex finds messages by their words. As soon as a call that deletes or edits a message has returned, the old text is no
// longer found.
type WordIndex interface {
	// IndexWords indexes the next messages that are not indexed yet, at most limit, in one transaction: a crash loses and repeats
	// nothing. It reports whether there can be more. Storing a message does not index it. Messages from the time embed on are
	// also queued for vectors, see [VectorIndex]; none are if embed is zero.
	IndexWords(ctx context.Context, limit int, embed time.Time) (more bool, err error)
	// FindWords returns the passages whose messages match best, best first. Messages outside of the transcript are left out.
	FindWords(ctx context.Context, q chat.Search) ([]chat.Passage, error)
}

// VectorIndex finds messages by the vectors of their texts. The vector of a message is deleted with the message; an edited message
// is queued for a new one.
type VectorIndex interface {
	// Unembedded returns queued messages, and those with a vector of another model, at most limit, newest first. For some minutes
	// other replicas do not receive the same messages.
	Unembedded(ctx context.Context, model string, limit int) ([]chat.Unembedded, error)
	// ReleaseUnembedded returns messages of Unembedded to the queue: every replica can receive them at once.
	ReleaseUnembedded(ctx context.Context, tickets []chat.Ticket) error
	// SaveVectors stores vectors of a model for messages of Unembedded, except for messages that were edited or deleted meanwhile.
	// A nil vector marks a text that has no vector.
	SaveVectors(ctx context.Context, model string, vectors []chat.Vector) error
	// FindVectors returns the passages whose messages are close to q.Vector, nearest first; distant ones are left out. It ignores
	// a stored vector that is damaged or of another length, and queues its message for a new one.
	FindVectors(ctx context.Context, q chat.Search) ([]chat.Passage, error)
}

// VectorBackfill queues messages for vectors that were indexed without one.
type VectorBackfill interface {
	// Backfill queues the next such messages, at most limit, and reports whether there can be more.
	Backfill(ctx context.Context, limit int) (more bool, err error)
	// BackfillSize returns the number of such messages, and of their characters, the texts of their files included. Of each
	// message it counts at most longest characters.
	BackfillSize(ctx context.Context, longest int) (messages, characters int, err error)
	// WaitingSize returns the same numbers for the messages that [VectorIndex.Unembedded] returns for this model: queued ones, and
	// those with a vector of another model.
	WaitingSize(ctx context.Context, model string, longest int) (messages, characters int, err error)
}

// PieceVectors stores the vectors of pieces of the agent's knowledge, for all replicas, in the form of
// [parley/internal/search.Pack].
type PieceVectors interface {
	// PieceVectors returns the stored vectors of a model for keys. Keys without a vector are left out.
	PieceVectors(ctx context.Context, model string, keys []chat.PieceKey) (map[chat.PieceKey][]byte, error)
	// SavePieceVectors stores vectors of a model, in place of earlier ones.
	SavePieceVectors(ctx context.Context, model string, vectors map[chat.PieceKey][]byte) error
	// UsePieceVectors marks vectors as used. Upkeep deletes vectors that were neither saved nor used for a long time.
	UsePieceVectors(ctx context.Context, model string, keys []chat.PieceKey) error
}
