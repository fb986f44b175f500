package coretest

import (
	"bytes"
	"context"
	"maps"
	"time"

	"parley/core/chat"
)

// keptPiece names the vector of a piece of knowledge.
type keptPiece struct {
	model string
	key   chat.PieceKey
}

// usedVector is a vector with the time of its last use.
type usedVector struct {
	vector []byte
	used   time.Time
}

// PieceVectors implements [parley/core/storage.PieceVectors].
func (m *storeModel) PieceVectors(_ context.Context, model string, keys []chat.PieceKey) (map[chat.PieceKey][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[chat.PieceKey][]byte{}
	for _, k := range keys {
		if v, ok := m.pieces[keptPiece{model, k}]; ok {
			found[k] = bytes.Clone(v.vector)
		}
	}
	return found, nil
}

// SavePieceVectors implements [parley/core/storage.PieceVectors].
func (m *storeModel) SavePieceVectors(_ context.Context, model string, vectors map[chat.PieceKey][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, v := range vectors {
		m.pieces[keptPiece{model, k}] = usedVector{bytes.Clone(v), time.Now()}
	}
	return nil
}

// UsePieceVectors implements [parley/core/storage.PieceVectors].
func (m *storeModel) UsePieceVectors(_ context.Context, model string, keys []chat.PieceKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		if v, ok := m.pieces[keptPiece{model, k}]; ok {
			m.pieces[keptPiece{model, k}] = usedVector{v.vector, time.Now()}
		}
	}
	return nil
}

// expirePieces deletes vectors that were not used since before. Its caller holds the lock.
func (m *storeModel) expirePieces(before time.Time) {
	maps.DeleteFunc(m.pieces, func(_ keptPiece, v usedVector) bool { return v.used.Before(before) })
}
