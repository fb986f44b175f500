// Package demo is a plugin of small actions that show what an action can do. The demo model asks for them; any other
// model may.
package demo

import (
	"math/rand/v2"

	"parley/core"
)

// New makes the plugin. intN picks a number from 0 to n-1 and is safe for concurrent use; nil is [rand.IntN].
func New(intN func(n int) int) core.Plugin {
	if intN == nil {
		intN = rand.IntN
	}
	return core.Plugin{Name: "demo", Actions: []core.Action{player{}, dice{intN}, clock{}}}
}
