package inmem

import (
	"testing"

	"parley/core"
	"parley/core/coretest"
)

// In one process all replicas are one.
func TestTrackerSuite(t *testing.T) {
	coretest.Tracker(t, func(_ *testing.T, n int) []core.Tracker {
		one := NewTracker()
		all := make([]core.Tracker, n)
		for i := range all {
			all[i] = one
		}
		return all
	})
}

func TestBusSuite(t *testing.T) {
	coretest.Bus(t, func(_ *testing.T, n int) []core.Bus {
		one := NewBus()
		all := make([]core.Bus, n)
		for i := range all {
			all[i] = one
		}
		return all
	})
}
