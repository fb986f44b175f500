package core

import (
	"context"

	"parley/core/action"
	"parley/internal/contain"
)

// background does the work of a plugin beside the messages. A panic in it stops this plugin's work, and nothing else.
func (rt *Runtime) background(ctx context.Context, p action.Plugin) {
	err := contain.Call("the background work", func() error {
		p.Work(ctx)
		return nil
	})
	if err != nil {
		rt.cfg.Log.Error("a plugin's background work panicked; it stays stopped until the next start", "plugin", p.Name, "err", err)
	}
}
