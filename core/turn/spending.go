package turn

import (
	"context"
	"errors"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/lang"
)

// spending keeps an answer within limits of money and messages, and tells users about a limit that is reached.
type spending struct {
	*Gate
	at      *attempt
	gen     *generate.Writer
	waiting *waiting
	asking  *asking
}

// budgetCheck returns the check before each call of the model that asks users before the answer exceeds a soft limit, or nil
// if there is no such limit.
func (sp *spending) budgetCheck() func(context.Context, llm.Request) error {
	s := sp.gen.State
	if s != nil {
		sp.gen.Only = s.Models
	}
	if !sp.Meter.Asks() {
		return nil
	}
	run := budgetRun{spending: sp, chooses: s == nil || sp.waiting.waited(waitsForBudget)}
	a := costlyAnswer{Run: run, Turn: &sp.at.turn, Route: sp.gen.Route, Begun: s != nil, Allowed: sp.gen.Allowed, Say: sp.say}
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

// say shows a text in a segment of its own. A notice is not remembered.
func (sp *spending) say(text string, notice bool) {
	step := -1 - int(sp.at.answer.View().At)
	sp.at.answer.Apply(answer.Change{Kind: answer.Text, Step: step, Notice: notice, Text: text})
}

// budgetRun is a run that asks for the consent to exceed a soft limit.
type budgetRun struct {
	*spending
	chooses bool // the run can have asked: an answer that continues after another wait has not
}

// Chose implements [consent.Run].
func (r budgetRun) Chose(ctx context.Context, subject string) (q chat.Question, ok bool, err error) {
	if !r.chooses {
		return q, false, nil
	}
	return r.waiting.chose(ctx, subject)
}

// Waited implements [consent.Run].
func (r budgetRun) Waited(subject string) bool { return r.waiting.waited(subject) }

// Park implements [consent.Run].
func (r budgetRun) Park(ctx context.Context, description string, w action.Wait) error {
	r.say(answer.CostSign+description, true)
	return r.asking.wait(ctx, w)
}

// reportLimit tells users about a limit that is reached: each of them once a day, so that the notices don't become a
// flood of their own, and in each response to a command. An answer that breaks off always has a reason, and so does the outcome, for clients that wait for
// an answer. Other errors are returned unchanged.
func (sp *spending) reportLimit(ctx context.Context, err error) error {
	var over *quota.LimitError
	err = sp.endSilently(err)
	if !errors.As(err, &over) {
		return err
	}
	sp.at.reason = over.Sentence(lang.Of(ctx))
	sp.Log.Info("a limit is reached", "run", sp.at.run.ID, "limit", over.Bucket, "until", over.Until)
	empty := sp.at.answer.View().Text() == ""
	if empty && sp.at.run.Kind == chat.RunRespond { // its platform waits, and shows the reason to the user alone
		return chat.ErrNothingToSay
	}
	first, werr := sp.Meter.FirstNotice(ctx)
	if werr != nil {
		return errors.Join(err, werr)
	}
	if !first && empty {
		return chat.ErrNothingToSay
	}
	sp.at.answer.Apply(answer.Change{Kind: answer.Text, Step: markStep, Text: sp.at.reason})
	return nil
}

// endSilently ends a run that is over a limit silently, if no user waits for it. Other errors are returned unchanged.
func (sp *spending) endSilently(err error) error {
	var over *quota.LimitError
	if !errors.As(err, &over) || !sp.at.unattended() || sp.at.answer.View().Text() != "" {
		return err
	}
	sp.Log.Warn("a limit is reached; a task is left out", "run", sp.at.run.ID, "limit", over.Bucket, "until", over.Until)
	return chat.ErrNothingToSay
}
