package redis

import (
	"fmt"
	"sync/atomic"
	"testing"

	"parley/backends/redis/redistest"
	"parley/core"
	"parley/core/relay"
	"parley/core/storage/storagetest"
	"parley/internal/require"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// topologies are the servers that a URL can name.
var topologies = map[string]func(t testing.TB) (url string){
	"one server": func(t testing.TB) string { return redistest.Start(t).URL() },
	"sentinel":   func(t testing.TB) string { return redistest.StartSentinels(t).URL },
	"cluster":    func(t testing.TB) string { return redistest.StartCluster(t).URL },
}

// everywhere runs a suite on each topology.
func everywhere(t *testing.T, suite func(t *testing.T, url string, group *atomic.Int64)) {
	for name, start := range topologies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, start(t), new(atomic.Int64))
		})
	}
}

func TestTrackerSuite(t *testing.T) { everywhere(t, trackers) }

func trackers(t *testing.T, url string, group *atomic.Int64) {
	storagetest.Tracker(t, func(t *testing.T, n int) []core.Tracker {
		var all []core.Tracker
		for _, b := range replicas(t, url, group, n) {
			all = append(all, b.Tracker())
		}
		return all
	})
}

func TestBusSuite(t *testing.T) { everywhere(t, buses) }

func buses(t *testing.T, url string, group *atomic.Int64) {
	storagetest.Bus(t, func(t *testing.T, n int) []relay.Bus {
		var all []relay.Bus
		for _, b := range replicas(t, url, group, n) {
			all = append(all, b.Bus())
		}
		return all
	})
}

// replicas share a name of their own.
func replicas(t testing.TB, url string, group *atomic.Int64, n int) []*Backend {
	t.Helper()
	o := Options{Name: fmt.Sprintf("test%d", group.Add(1))}
	var all []*Backend
	for range n {
		all = append(all, open(t, url, o))
	}
	return all
}

func open(t testing.TB, url string, o Options) *Backend {
	t.Helper()
	b := require.Value(Open(url, o))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func TestGateSuite(t *testing.T) { everywhere(t, gates) }

func gates(t *testing.T, url string, group *atomic.Int64) {
	progressivetest.Gate(t, func(t *testing.T, n int, budget func(progressive.Scope) progressive.Budget) []progressive.Gate {
		var all []progressive.Gate
		for _, b := range replicas(t, url, group, n) {
			all = append(all, progressive.NewSharedGate(b.Ledger(), budget))
		}
		return all
	})
}
