package redis

import (
	"fmt"
	"sync/atomic"
	"testing"

	"parley/backends/redis/redistest"
	"parley/core"
	"parley/core/coretest"
	"parley/core/relay"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

func TestTrackerSuite(t *testing.T) {
	s, group := redistest.Start(t), new(atomic.Int64)
	coretest.Tracker(t, func(t *testing.T, n int) []core.Tracker {
		var all []core.Tracker
		for _, b := range replicas(t, s, group, n) {
			all = append(all, b.Tracker())
		}
		return all
	})
}

func TestBusSuite(t *testing.T) {
	s, group := redistest.Start(t), new(atomic.Int64)
	coretest.Bus(t, func(t *testing.T, n int) []relay.Bus {
		var all []relay.Bus
		for _, b := range replicas(t, s, group, n) {
			all = append(all, b.Bus())
		}
		return all
	})
}

// replicas share a prefix of their own.
func replicas(t testing.TB, s *redistest.Server, group *atomic.Int64, n int) []*Backend {
	t.Helper()
	o := Options{Prefix: fmt.Sprintf("test%d:", group.Add(1))}
	var all []*Backend
	for range n {
		all = append(all, open(t, s.URL(), o))
	}
	return all
}

func open(t testing.TB, url string, o Options) *Backend {
	t.Helper()
	b, err := Open(url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestGateSuite(t *testing.T) {
	s, group := redistest.Start(t), new(atomic.Int64)
	progressivetest.Gate(t, func(t *testing.T, n int, budget func(progressive.Scope) progressive.Budget) []progressive.Gate {
		var all []progressive.Gate
		for _, b := range replicas(t, s, group, n) {
			all = append(all, progressive.NewSharedGate(b.Ledger(), budget))
		}
		return all
	})
}
