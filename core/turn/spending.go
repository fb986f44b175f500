package turn

import (
	"context"
	"errors"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/quota"
)

// spending keeps an answer within limits of money and messages, and tells users of a limit that is reached.
type spending struct {
	*Gate
	at      *attempt
	gen     *generate.Writer
	waiting *waiting
	asking  *asking
}

// passes returns what asks people before a call of the model takes the answer beyond a soft limit, or nil if there is none.
func (sp *spending) passes() func(context.Context, llm.Request) error {
	s := sp.gen.State
	if s != nil {
		sp.gen.Only = s.Models
	}
	if !sp.Meter.Asks() {
		return nil
	}
	a := costlyAnswer{
		Turn: &sp.at.turn, Route: sp.gen.Route, Begun: s != nil, Waited: sp.waiting.waited(waitsForBudget),
		Allowed: sp.gen.Allowed, Wait: sp.asking.wait,
		Say: func(text string, notice bool) {
			step := -1 - int(sp.at.answer.View().At) // each is a segment of its own
			sp.at.answer.Apply(answer.Change{Kind: answer.Text, Step: step, Notice: notice, Text: text})
		},
	}
	if a.Waited || s == nil { // an answer that starts again after a crash is not asked again
		a.Chose = sp.waiting.chose
	}
	return func(ctx context.Context, req llm.Request) error {
		before := len(sp.gen.Route.Names())
		err := sp.pass(ctx, &a, req)
		if now := sp.gen.Route.Names(); err == nil && len(now) < before {
			sp.gen.Only = now
		}
		sp.gen.Allowed = a.Allowed
		return err
	}
}

// reportLimit tells people of a limit that is reached: each of them once a day, so that the notices don't become a flood of their own. An
// answer that breaks off always says why. Other errors are returned as they are.
func (sp *spending) reportLimit(ctx context.Context, err error) error {
	var over *quota.LimitError
	err = sp.unheard(err)
	if !errors.As(err, &over) {
		return err
	}
	sp.Log.Info("a limit is reached", "run", sp.at.run.ID, "limit", over.Bucket, "until", over.Until)
	first, werr := sp.Meter.FirstNotice(ctx)
	if werr != nil {
		return errors.Join(err, werr)
	}
	if !first && sp.at.answer.View().Text() == "" {
		return chat.ErrNothingToSay
	}
	sp.at.answer.Apply(answer.Change{Kind: answer.Text, Step: markStep, Text: over.Sentence()})
	return nil
}

// unheard ends a run that is over a limit silently, if no person waits for it. Other errors are returned as they are.
func (sp *spending) unheard(err error) error {
	var over *quota.LimitError
	if !errors.As(err, &over) || !sp.at.unattended() || sp.at.answer.View().Text() != "" {
		return err
	}
	sp.Log.Warn("a limit is reached; a task is left out", "run", sp.at.run.ID, "limit", over.Bucket, "until", over.Until)
	return chat.ErrNothingToSay
}
