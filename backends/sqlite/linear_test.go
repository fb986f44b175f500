package sqlite

import (
	"testing"

	"parley/core/storage/storagetest"
)

// IN-06: the turns of a room have one order.
func TestLinearizable(t *testing.T) {
	for seed := range uint64(5) {
		storagetest.Linearizable(t, seed, open(t, migrated(t, "parley.db")))
	}
}
