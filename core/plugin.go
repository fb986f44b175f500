package core

import (
	"context"
	"runtime/debug"

	"parley/core/action"
)

// background does the work of a plugin.
func (rt *Runtime) background(ctx context.Context, p action.Plugin) {
	defer func() {
		if broke := recover(); broke != nil {
			rt.cfg.Log.Error("a plugin's background work panicked; it stays stopped until the next start", "plugin", p.Name, "err", broke, "stack", string(debug.Stack()))
		}
	}()
	p.Work(ctx)
}
