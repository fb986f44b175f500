// Package essentials is what every agent knows and can do.
package essentials

import "parley/core"

// New makes the plugin.
func New() core.Plugin {
	return core.Plugin{Name: "essentials", Actions: actions(), Providers: providers()}
}
