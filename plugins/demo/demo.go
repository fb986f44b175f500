// Package demo is a plugin of small actions that show what an action can do. The demo model asks for them; any other
// model may.
package demo

import (
	"math/rand/v2"

	"parley/core/action"
)

// New makes the plugin. intN picks a number from 0 to n-1 and is safe for concurrent use; nil is [rand.IntN].
func New(intN func(n int) int) action.Plugin {
	if intN == nil {
		intN = rand.IntN
	}
	return action.Plugin{Name: "demo", Actions: []action.Action{player{}, dice{intN}, clock{}}}
}
