package chat

import "crypto/sha256"

// PieceKey names a piece of the agent's knowledge by its text.
type PieceKey [16]byte

// PieceKeyOf returns the key of a text.
func PieceKeyOf(text string) PieceKey {
	sum := sha256.Sum256([]byte(text))
	return PieceKey(sum[:16])
}
