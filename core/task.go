package core

import (
	"errors"

	"parley/core/chat"
	"parley/core/quota"
)

// unattended reports whether no person has asked for what the run says.
func (x *execution) unattended() bool { return x.run.Address.BilledTo.Automatic() }

// unheard ends a run that is over a limit silently, if no person waits for it. It passes other errors on.
func (x *execution) unheard(err error) error {
	var over *quota.LimitError
	if !errors.As(err, &over) || !x.unattended() || x.answer.View().Text() != "" {
		return err
	}
	x.rt.cfg.Log.Warn("a limit is reached; a task is left out", "run", x.run.ID, "limit", over.Bucket, "until", over.Until)
	return chat.ErrNothingToSay
}
