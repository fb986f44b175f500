package postgres

import (
	"testing"

	"parley/core/storage"
	"parley/core/storage/storagetest"
)

// IN-06, DI-09: the turns of a room have one order, however many stores use the database.
func TestLinearizable(t *testing.T) {
	for seed := range uint64(5) {
		url := fresh(t)
		var stores []storage.Store
		for range 3 {
			stores = append(stores, open(t, url, Options{Several: true}))
		}
		storagetest.Linearizable(t, seed, stores...)
	}
}
