package coretest

import (
	"testing"

	"parley/core"
)

// The model meets the checks that it serves.
func TestStoreModel(t *testing.T) {
	StoreSuite{
		Open:   func(*testing.T) core.Store { return newStoreModel() },
		Reopen: func(_ *testing.T, s core.Store) core.Store { return s },
	}.Run(t)
}
