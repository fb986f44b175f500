package inmem

import (
	"testing"

	"parley/core"
	"parley/core/relay"
	"parley/core/storage/storagetest"
)

// In one process all replicas are one.
func TestTrackerSuite(t *testing.T) {
	storagetest.Tracker(t, func(_ *testing.T, n int) []core.Tracker {
		one := NewTracker()
		all := make([]core.Tracker, n)
		for i := range all {
			all[i] = one
		}
		return all
	})
}

func TestBusSuite(t *testing.T) {
	storagetest.Bus(t, func(_ *testing.T, n int) []relay.Bus {
		one := NewBus()
		all := make([]relay.Bus, n)
		for i := range all {
			all[i] = one
		}
		return all
	})
}
