package core

import (
	"errors"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// filesOf returns the files that a call has shown, for a process that shows the end of another one's answer. Files that have
// expired are left out.
func (x *execution) filesOf(c answer.PastCall) (all []llm.File) {
	for _, f := range c.Files {
		b, err := x.store.File(x.life, x.run.ID, f.N)
		if err == nil {
			all = append(all, b)
		} else if !errors.Is(err, chat.ErrNotFound) {
			x.rt.cfg.Log.Warn("a file can't be restored", "run", x.run.ID, "err", err)
		}
	}
	return all
}
