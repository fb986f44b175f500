package chat

import "crypto/sha256"

// Search describes a search for messages.
type Search struct {
	Room RoomID // of the asker
	// Before is a message of Room: only turns before its own are searched there. If it is not remembered, nothing of Room is.
	Before MemoryID
	// Person extends the search to other [Direct] rooms with messages of this person. Empty: Room only.
	Person EntityID
	Limit  int // how many passages at most

	Words  []string  // a message must have any of them, in the form of [parley/internal/search]
	Model  string    // that made Vector
	Vector []float32 // of the question
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
