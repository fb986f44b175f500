package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/text"
)

// generateForm asks for the form. An answer that names providers is asked for once more with what they tell, and one
// that names actions is followed by another that tells what came of them. Most answers need neither.
func (gn *generation) generateForm(ctx context.Context, st *prompt.Builder) error {
	r, err := gn.fill(ctx, st, prompt.MessageHandler, &round{x: gn.x, form: true}, nil)
	if err != nil {
		return err
	}
	if st.Lacks(r.wrote.Providers) { // the actions were chosen without knowing; they are chosen again
		r.calls = nil
		if err := gn.resolveReservedActions(ctx, st, r); err != nil {
			return err
		}
		st.AskNamed(ctx, r.wrote.Providers)
		if r, err = gn.fill(ctx, st, prompt.MessageHandler, &round{x: gn.x, form: true, step: 1}, gn.saidSoFar()); err != nil {
			return err
		}
	}
	if err := gn.resolveReservedActions(ctx, st, r); err != nil || len(r.calls) == 0 {
		return err
	}
	results, err := gn.actAll(ctx, r.calls)
	if err != nil {
		return err
	}
	nothing := func(t llm.Message) bool { return strings.TrimSpace(t.Text) == "" }
	if gn.x.toolCalls.over() || !slices.ContainsFunc(results, func(t llm.Message) bool { return !nothing(t) }) {
		return gn.x.toolCalls.requireOutput()
	}
	return gn.conclude(ctx, st, 2)
}

// generateSteps decides one step after the other, unseen, and then writes the answer.
func (gn *generation) generateSteps(ctx context.Context, st *prompt.Builder) error {
	last := gn.x.rt.cfg.Generation.steps() - 1
	for step := range last {
		r, err := gn.fill(ctx, st, prompt.MultiStepDecision, &round{x: gn.x, form: true, hidden: true, step: step}, nil)
		if errors.Is(err, errEmpty) { // it can't decide; it may answer all the same
			break
		} else if err != nil {
			return err
		}
		lacks := st.Lacks(r.wrote.Providers)
		if err := gn.resolveReservedActions(ctx, st, r); err != nil {
			return err
		}
		st.AskNamed(ctx, r.wrote.Providers)
		if _, err := gn.actAll(ctx, r.calls); err != nil {
			return err
		}
		if gn.x.toolCalls.over() {
			return gn.x.toolCalls.requireOutput()
		}
		if r.wrote.Finish || !lacks && len(r.calls) == 0 {
			break
		}
	}
	return gn.conclude(ctx, st, last)
}

// conclude writes the answer from what was found. What it asks to be done is not done any more.
func (gn *generation) conclude(ctx context.Context, st *prompt.Builder, step int) error {
	r, err := gn.fill(ctx, st, prompt.MultiStepSummary, &round{x: gn.x, form: true, step: step}, gn.saidSoFar())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(r.calls, func(c llm.ToolCall) bool { return r.reservedAction(c) == "" }) {
		gn.x.rt.cfg.Log.Info("the model called actions instead of answering; they are skipped", "run", gn.x.run.ID, "calls", len(r.calls))
	}
	r.calls = slices.DeleteFunc(r.calls, func(c llm.ToolCall) bool { return r.reservedAction(c) == "" })
	return gn.resolveReservedActions(ctx, st, r)
}

// fill asks the model to fill a form.
func (gn *generation) fill(ctx context.Context, st *prompt.Builder, name string, like *round, said []llm.Message) (*round, error) {
	req, err := st.Prompt(ctx, name, map[string]string{
		"actionResults": gn.resultsSoFar(), "partialAnswer": gn.x.answer.View().Text(), "step": strconv.Itoa(like.step + 1), "maxSteps": strconv.Itoa(gn.x.rt.cfg.Generation.steps()),
	})
	if err != nil {
		return nil, err
	}
	req.Messages = append(req.Messages, said...)
	return gn.round(ctx, req, like)
}

// saidSoFar tells the model what people have read of this answer.
func (gn *generation) saidSoFar() []llm.Message {
	said := strings.TrimSpace(gn.x.answer.View().Text())
	if said == "" {
		return nil
	}
	return []llm.Message{
		{Role: llm.RoleAssistant, Text: "<response><text>" + said + "</text></response>"},
		{Role: llm.RoleUser, Text: "That has already been sent. Continue from there, in the same format, without repeating anything."},
	}
}

// resultsSoFar is what the actions of this run came to.
func (gn *generation) resultsSoFar() string {
	var b strings.Builder
	for _, a := range gn.x.toolCalls.acted {
		fmt.Fprintf(&b, "%s %s: %s\n", a.Action, a.Parameters, text.Quote(text.Excerpt(a.ForModel(), maxTold)))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// maxTold is how much of a result stands in a prompt that is one text, in characters.
const maxTold = 4000
