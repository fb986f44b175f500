package coretest

import (
	"testing"

	"parley/core/storage"
)

// The model meets the checks that it serves.
func TestStoreModel(t *testing.T) {
	StoreSuite{
		Open:   func(*testing.T) storage.Store { return newStoreModel() },
		Reopen: func(_ *testing.T, s storage.Store) storage.Store { return s },
	}.Run(t)
}
