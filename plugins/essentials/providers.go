package essentials

import "parley/core"

// providers are what a model is told of the world of a turn.
func providers() []core.Provider { return nil }
