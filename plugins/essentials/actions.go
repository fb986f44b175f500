package essentials

import "parley/core"

// actions are listed in the order in which models are told of them.
func actions() []core.Action { return nil }
