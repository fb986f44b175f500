package core

import (
	"context"
	"errors"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
)

// reportLimit tells people of a limit that is reached: each of them once a day, so that the notices don't become a flood of their own. An
// answer that breaks off always says why. Other errors are returned as they are.
func (x *execution) reportLimit(ctx context.Context, err error) error {
	var over *quota.LimitError
	err = x.unheard(err)
	if !errors.As(err, &over) {
		return err
	}
	x.rt.cfg.Log.Info("a limit is reached", "run", x.run.ID, "limit", over.Bucket, "until", over.Until)
	first, werr := x.rt.cfg.Meter.FirstNotice(ctx)
	if werr != nil {
		return errors.Join(err, werr)
	}
	if !first && x.answer.View().Text() == "" {
		return chat.ErrNothingToSay
	}
	x.answer.Apply(answer.Change{Kind: answer.Text, Step: markStep, Text: over.Sentence()})
	return nil
}
