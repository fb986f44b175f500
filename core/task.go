package core

import (
	"errors"

	"parley/core/chat"
	"parley/core/quota"
)

// unattended reports whether no person asked for what the run says: a schedule or a hook did.
func (x *execution) unattended() bool { return x.run.Address.BilledTo.Automatic() }

// unheard ends a run that is over a limit silently, if no person waits for it. Other errors are returned as they are.
func (x *execution) unheard(err error) error {
	var over *quota.LimitError
	if !errors.As(err, &over) || !x.unattended() || x.answer.View().Text() != "" {
		return err
	}
	x.rt.cfg.Log.Warn("a limit is reached; a task is left out", "run", x.run.ID, "limit", over.Bucket, "until", over.Until)
	return chat.ErrNothingToSay
}
