package core

import (
	"context"
	"errors"

	"parley/core/answer"
	"parley/core/budget"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
)

// passes returns what asks people before a call of the model takes the answer beyond a soft limit, or nil if there is none.
func (x *execution) passes() func(context.Context, llm.Request) error {
	s := x.gen.State
	if s != nil {
		x.gen.Only = s.Models
	}
	meter := x.rt.cfg.Meter
	if !meter.Asks() {
		return nil
	}
	gate := budget.Gate{Meter: meter, Approvers: x.rt.cfg.Spenders, Owns: x.rt.pairing.Owns, Owners: x.rt.pairing.OwnersRooms}
	a := budget.Answer{
		Turn: &x.turn, Route: x.gen.Route, Begun: s != nil, Waited: x.waiting.Waited(budget.For),
		Allowed: x.gen.Allowed, Wait: x.asking.wait,
		Say: func(text string, notice bool) {
			step := -1 - int(x.answer.View().At) // each is a segment of its own
			x.answer.Apply(answer.Change{Kind: answer.Text, Step: step, Notice: notice, Text: text})
		},
	}
	if a.Waited || s == nil { // an answer that starts again after a crash is not asked again
		a.Chose = x.waiting.Chose
	}
	return func(ctx context.Context, req llm.Request) error {
		before := len(x.gen.Route.Names())
		err := gate.Pass(ctx, &a, req)
		if now := x.gen.Route.Names(); err == nil && len(now) < before {
			x.gen.Only = now
		}
		x.gen.Allowed = a.Allowed
		return err
	}
}

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
