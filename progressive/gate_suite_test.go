package progressive_test

import (
	"testing"

	"parley/progressive"
	"parley/progressive/progressivetest"
)

// One process has one gate.
func TestMemoryGateSuite(t *testing.T) {
	progressivetest.Gate(t, func(_ *testing.T, n int, budget func(progressive.Scope) progressive.Budget) []progressive.Gate {
		g := progressive.NewGate(budget)
		var all []progressive.Gate
		for range n {
			all = append(all, g)
		}
		return all
	})
}
