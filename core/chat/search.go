package chat

import "crypto/sha256"

// Search says which messages to look for.
type Search struct {
	Room RoomID // of the asker
	// Before is a message of Room: only turns before its own are searched there. If it is not remembered, nothing of Room is.
	Before MemoryID
	// Person extends the search to other [Direct] rooms in which this person has written. Empty: Room only.
	Person EntityID
	Limit  int // how many passages at most

	Words  []string  // any of which a message must have, as [parley/internal/search] returns them
	Model  string    // that made Vector
	Vector []float32 // of what is asked
}

// Passage is a part of a conversation: the messages of one turn, oldest first.
type Passage struct {
	Room     RoomID
	Turn     ResponseID
	Messages []Memory
}

// Unembedded is a message that waits for a vector.
type Unembedded struct {
	Memory
	Ticket Ticket
}

// Ticket names a message as it was. It is opaque.
type Ticket struct{ Seq, Version int64 }

// Vector is the vector of a message.
type Vector struct {
	Ticket Ticket
	Vector []float32
}

// PieceKey names a piece of the agent's knowledge by its text.
type PieceKey [16]byte

// PieceKeyOf returns the key of a text.
func PieceKeyOf(text string) PieceKey {
	sum := sha256.Sum256([]byte(text))
	return PieceKey(sum[:16])
}
