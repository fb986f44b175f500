package generate

import (
	"cmp"
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

// generateForm requests the form. If the answer names providers, the form is requested once more with their output. If
// it names actions, another form follows that reports their results. Most answers need neither, and take one call of
// the model. A text that is listed after actions waits for them. It fails like [Writer.Write].
func (w *Writer) generateForm(ctx context.Context, st *prompt.Builder) error {
	if s := w.State; s != nil {
		st.AskNamed(ctx, s.Trace.Providers)
		if s.Lacked {
			return w.fillAgain(ctx, st)
		}
		return w.actForm(ctx, st, *s)
	}
	r, err := w.fill(ctx, st, prompt.MessageHandler, &round{w: w, form: true, orders: true}, nil)
	if err != nil {
		return err
	}
	// The model chose the actions without the output of the providers, so they are dropped and chosen again. Visible
	// text stays; a text that was held back is dropped with the actions.
	if st.Lacks(r.wrote.Providers) {
		r.calls, r.wrote.Held = nil, ""
		if err := w.resolveReservedActions(ctx, st, r); err != nil {
			return err
		}
		st.AskNamed(ctx, r.wrote.Providers)
		return w.fillAgain(ctx, st)
	}
	return w.actOn(ctx, st, r)
}

// fillAgain requests the form once more, with the output of the providers that the first one named. It fails like
// [Writer.Write].
func (w *Writer) fillAgain(ctx context.Context, st *prompt.Builder) error {
	w.before = func() State { return State{Written: true, Lacked: true} }
	r, err := w.fill(ctx, st, prompt.MessageHandler, &round{w: w, form: true, orders: true, step: 1}, w.visibleText())
	if err != nil {
		return err
	}
	return w.actOn(ctx, st, r)
}

// actOn makes the calls of r, if it has any. It fails like [Writer.Write].
func (w *Writer) actOn(ctx context.Context, st *prompt.Builder, r *round) error {
	if err := w.resolveReservedActions(ctx, st, r); err != nil || len(r.calls) == 0 {
		return err
	}
	return w.actForm(ctx, st, r.state())
}

// actForm makes the calls of s, and requests a form that reports their results. If no call returned anything, there is
// nothing to report. It fails like [Writer.Write].
func (w *Writer) actForm(ctx context.Context, st *prompt.Builder, s State) error {
	results, err := w.actAll(ctx, s)
	if err != nil {
		return err
	}
	s.Next = cmp.Or(s.Next, 2)
	s.Calls, s.Results = nil, storeMessages(results)
	w.before = func() State { return s } // resumed, it comes here again
	// Without calls, it is a decision of several steps that was parked before MultiStep was turned off: it still needs
	// an answer.
	told := len(results) == 0 || slices.ContainsFunc(results, func(t llm.Message) bool { return strings.TrimSpace(t.Text) != "" })
	switch {
	case s.Held != nil:
		return w.replyLate(ctx, st, s, told)
	case w.Calls.Over(), !told, s.Next > 2 && s.Step+1 >= w.steps(): // above 2 there is a reply
		return w.Calls.RequireOutput()
	}
	return w.conclude(ctx, st, s.Next)
}

// generateSteps decides one step after the other, unseen, and then writes the answer. The last of the steps is always
// the answer. A parked run continues after the step whose calls are left. It fails like [Writer.Write].
func (w *Writer) generateSteps(ctx context.Context, st *prompt.Builder) error {
	last, step := w.steps()-1, 0
	if s := w.State; s != nil {
		st.AskNamed(ctx, s.Trace.Providers)
		if _, err := w.actAll(ctx, *s); err != nil {
			return err
		}
		if w.Calls.Over() {
			return w.Calls.RequireOutput()
		}
		if step = s.Step + 1; s.Finish {
			step = last
		}
	}
	for ; step < last; step++ {
		if step > 0 {
			w.before = func() State { return State{Step: step - 1, Written: true} }
		}
		r, err := w.fill(ctx, st, prompt.MultiStepDecision, &round{w: w, form: true, hidden: true, step: step}, nil)
		// The model fails to decide. It may still be able to answer.
		if errors.Is(err, errEmpty) {
			break
		} else if err != nil {
			return err
		}
		lacks := st.Lacks(r.wrote.Providers)
		if err := w.resolveReservedActions(ctx, st, r); err != nil {
			return err
		}
		st.AskNamed(ctx, r.wrote.Providers)
		if _, err := w.actAll(ctx, State{Step: step, Calls: storeCalls(r.calls), Written: true, Finish: r.wrote.Finish}); err != nil {
			return err
		}
		if w.Calls.Over() {
			return w.Calls.RequireOutput()
		}
		if r.wrote.Finish || !lacks && len(r.calls) == 0 {
			break
		}
	}
	w.before = func() State { return State{Step: step, Written: true, Finish: true} }
	return w.conclude(ctx, st, last)
}

// conclude writes the answer from the results so far. Actions that it requests are not made, because no round would
// report their results. It fails like [Writer.Write].
func (w *Writer) conclude(ctx context.Context, st *prompt.Builder, step int) error {
	r, err := w.fill(ctx, st, prompt.MultiStepSummary, &round{w: w, form: true, step: step}, w.visibleText())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(r.calls, func(c llm.ToolCall) bool { return r.reservedAction(c) == "" }) {
		w.Log.Info("the model called actions instead of answering; they are skipped", "run", w.Info.Run, "calls", len(r.calls))
	}
	r.calls = slices.DeleteFunc(r.calls, func(c llm.ToolCall) bool { return r.reservedAction(c) == "" })
	return w.resolveReservedActions(ctx, st, r)
}

// fill asks the model to fill a form: the prompt with this name, followed by said. The round is read like the round
// like. It fails with the errors of [Writer.round].
func (w *Writer) fill(ctx context.Context, st *prompt.Builder, name string, like *round, said []llm.Message) (*round, error) {
	if w.Steer != nil && name != prompt.MultiStepSummary { // which can't call actions
		if _, err := w.Steer(ctx); err != nil {
			return nil, err
		}
	}
	texts := map[string]string{
		"actionResults": w.resultsSoFar(), "partialAnswer": w.Answer.View().Remembered().Text(), "step": strconv.Itoa(like.step + 1), "maxSteps": strconv.Itoa(w.steps()),
	}
	return w.round(ctx, func(ctx context.Context, limit int) (llm.Request, error) {
		if limit > 0 {
			st.Shorten(limit)
		}
		req, err := st.Prompt(ctx, name, texts)
		if err != nil {
			return req, err
		}
		req.Messages = append(req.Messages, said...)
		return req, nil
	}, like)
}

// visibleText returns the visible text of this answer for the model, so that it does not start over. It is nil if there
// is none.
func (w *Writer) visibleText() []llm.Message {
	said := strings.TrimSpace(w.Answer.View().Remembered().Text())
	if said == "" {
		return nil
	}
	return []llm.Message{
		{Role: llm.RoleAssistant, Text: "<response><text>" + said + "</text></response>"},
		{Role: llm.RoleUser, Text: "That has already been sent. Continue from there, in the same format, without repeating anything."},
	}
}

// resultsSoFar returns the results of the actions of this run, one per line, as quotes: they may contain text of
// others.
func (w *Writer) resultsSoFar() string {
	var b strings.Builder
	for _, a := range w.Calls.Acted {
		call := strings.TrimSpace(a.Action + " " + text.Excerpt(string(a.Parameters), maxPromptResult))
		fmt.Fprintf(&b, "%s: %s\n", text.Quote(call), text.Quote(text.Excerpt(a.ForModel(), maxPromptResult)))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// maxPromptResult is the maximum length of a result, and of the parameters before it, in a prompt of one text, in characters.
const maxPromptResult = 4000
