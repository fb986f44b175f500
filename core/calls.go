package core

import (
	"context"
	"errors"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// filesOf gives what the calls of a run have shown. Files that are gone are left out.
func (rt *Runtime) filesOf(ctx context.Context, run chat.RunID) func(answer.PastCall) []llm.File {
	return func(c answer.PastCall) (all []llm.File) {
		for _, f := range c.Files {
			b, err := rt.cfg.Store.File(ctx, run, f.N)
			if err == nil {
				all = append(all, b)
			} else if !errors.Is(err, chat.ErrNotFound) {
				rt.cfg.Log.Warn("a file can't be restored", "run", run, "err", err)
			}
		}
		return all
	}
}
