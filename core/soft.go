package core

import (
	"context"

	"parley/core/answer"
	"parley/core/budget"
	"parley/core/llm"
)

// passes returns what asks people before the answer goes beyond a soft limit, or nil if there is none. An answer that goes on from a call
// has passed already.
func (x *execution) passes() func(context.Context, llm.Request) error {
	if s := x.gen.State; s != nil {
		x.gen.Only = s.Models
		return nil
	}
	meter := x.rt.cfg.Meter
	if !meter.Asks() {
		return nil
	}
	gate := budget.Gate{Meter: meter, Approvers: x.rt.cfg.Spenders, Owns: x.rt.pairing.Owns, Owners: x.rt.pairing.OwnersRooms}
	return func(ctx context.Context, req llm.Request) error {
		before := x.gen.Route.Names()
		err := gate.Pass(ctx, budget.Answer{
			Turn: &x.turn, Route: x.gen.Route, Waited: x.waiting.Waited(budget.For),
			Chose: x.waiting.Chose, Wait: x.asking.wait,
			Say: func(text string, notice bool) {
				step := -1 - len(x.answer.View().Segments) // each is a segment of its own, above the answer
				x.answer.Apply(answer.Change{Kind: answer.Text, Step: step, Notice: notice, Text: text})
			},
		}, req)
		if now := x.gen.Route.Names(); err == nil && len(now) < len(before) {
			x.gen.Only = now
		}
		return err
	}
}
