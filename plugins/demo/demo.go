// Package demo is a plugin of small actions that demonstrate what actions can do. The demo model calls them; any other
// model can.
package demo

import (
	"math/rand/v2"

	"parley/core/action"
)

// New returns the plugin. intN returns a number from 0 to n-1 and must be safe for concurrent use; nil is [rand.IntN].
func New(intN func(n int) int) action.Plugin {
	if intN == nil {
		intN = rand.IntN
	}
	return action.Plugin{Name: "demo", Actions: []action.Action{player{}, dice{intN}, clock{}}}
}
