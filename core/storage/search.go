package storage

import (
	"context"
	"time"

	"parley/core/chat"
)

// WordIndex finds messages by their words. What is forgotten or revised is not found any more, by what it was, when the call
// that did so returns.
type WordIndex interface {
	// IndexWords makes the next messages findable that are not yet, at most limit, in one step: a crash loses and repeats
	// nothing. It reports whether there can be more. Storing a message does not index it. Messages from embed or later also wait for
	// vectors, see [VectorIndex]; none do if embed is zero.
	IndexWords(ctx context.Context, limit int, embed time.Time) (more bool, err error)
	// FindWords returns the passages whose messages match best, the best first. Messages that are no part of a transcript are not
	// among them.
	FindWords(ctx context.Context, q chat.Search) ([]chat.Passage, error)
}

// VectorIndex finds messages by the vectors of their texts. A message is forgotten with its vector; a revised one waits for a new one.
type VectorIndex interface {
	// Unembedded returns messages that wait for a vector, or have one of another model, at most limit, the newest first. Another
	// replica is not given the same for some minutes.
	Unembedded(ctx context.Context, model string, limit int) ([]chat.Unembedded, error)
	// ReleaseUnembedded gives messages of Unembedded back: each replica can be given them at once.
	ReleaseUnembedded(ctx context.Context, tickets []chat.Ticket) error
	// SaveVectors stores vectors of the model for messages of Unembedded, unless they were revised or forgotten since. A nil vector
	// means that there is none for this text.
	SaveVectors(ctx context.Context, model string, vectors []chat.Vector) error
	// FindVectors returns the passages whose messages are nearest to q.Vector, and not far from it, the nearest first. A vector that
	// can't be compared, because it is damaged or has another length, is ignored, and its message waits for another one.
	FindVectors(ctx context.Context, q chat.Search) ([]chat.Passage, error)
}

// VectorBackfill lets messages that were indexed without vectors wait for them.
type VectorBackfill interface {
	// Backfill does so for the next messages, at most limit, and reports whether there can be more.
	Backfill(ctx context.Context, limit int) (more bool, err error)
	// BackfillSize returns for how many messages that would be, of how many characters with the texts of their files. Of a message
	// at most longest characters count.
	BackfillSize(ctx context.Context, longest int) (messages, characters int, err error)
	// WaitingSize returns the same of the messages that wait for a vector of a model, as Unembedded returns them: those of another
	// model too.
	WaitingSize(ctx context.Context, model string, longest int) (messages, characters int, err error)
}

// PieceVectors stores the vectors of pieces of the agent's knowledge, for all replicas, in the form of
// [parley/internal/search.Pack].
type PieceVectors interface {
	// PieceVectors returns the vectors of a model that are stored for keys. Those that are not stored are left out.
	PieceVectors(ctx context.Context, model string, keys []chat.PieceKey) (map[chat.PieceKey][]byte, error)
	// SavePieceVectors stores vectors of a model, in place of earlier ones.
	SavePieceVectors(ctx context.Context, model string, vectors map[chat.PieceKey][]byte) error
	// UsePieceVectors notes that these are in use. Upkeep deletes those that were neither saved nor used for long.
	UsePieceVectors(ctx context.Context, model string, keys []chat.PieceKey) error
}
