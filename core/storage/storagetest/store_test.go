package storagetest

import (
	"context"
	"testing"

	"parley/core/storage"
)

// The model meets the checks that it serves: those without a call that is not modeled.
func TestStoreModel(t *testing.T) {
	StoreSuite{
		Open: func(t *testing.T) storage.Store {
			return oneByOne(newStoreModel(func(_ context.Context, c Call, _ func() error) error {
				t.Skipf("%s is not modeled", c.Method)
				return nil
			}))
		},
		Reopen: func(_ *testing.T, s storage.Store) storage.Store { return s },
	}.Run(t)
}
