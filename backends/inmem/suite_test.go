package inmem

import (
	"testing"

	"parley/core"
	"parley/core/coretest"
	"parley/core/relay"
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
	coretest.Bus(t, func(_ *testing.T, n int) []relay.Bus {
		one := NewBus()
		all := make([]relay.Bus, n)
		for i := range all {
			all[i] = one
		}
		return all
	})
}
