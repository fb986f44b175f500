package generate

import (
	"context"

	"parley/core/answer"
	"parley/core/generate/xmlform"
	"parley/core/llm"
	"parley/core/prompt"
)

// repliesLater reports whether REPLY is listed after an action: then the text waits for that action, since the model
// intends to report its result.
func (r *round) repliesLater(calls []xmlform.Call) bool {
	acts := false
	for _, c := range calls {
		switch r.reservedAction(llm.ToolCall{Name: c.Name, Parameters: []byte(c.Parameters)}) {
		case "":
			acts = true
		case reply:
			return acts
		}
	}
	return false
}

// part separates the calls that are listed after a text that is held back: those from index at on. No call of a
// truncated answer is made, so its text is shown without waiting.
func (r *round) part(at int) {
	switch {
	case r.wrote.Held == "":
	case r.cut():
		r.say(r.wrote.Held)
		r.wrote.Held = ""
	case at >= 0:
		r.calls, r.after = r.calls[:at:at], r.calls[at:]
	}
}

// state returns the remaining work of a round in the form.
func (r *round) state() State {
	s := State{Step: r.step, Calls: storeCalls(r.calls), Written: true}
	if r.wrote.Held != "" {
		s.Held = &heldReply{r.wrote.Held, storeCalls(r.after)}
	}
	return s
}

// replyLate replies after the calls of s were made, and then makes the calls that follow. The reply is written once
// more with the results of the calls (told), if another round is allowed: otherwise the first text of the model is the
// reply. It calls actForm for the calls that follow, whose rounds are counted too, so that the recursion ends. It fails
// like [Writer.Write].
func (w *Writer) replyLate(ctx context.Context, st *prompt.Builder, s State, told bool) error {
	if w.Calls.Over() || !told || s.Step+1 >= w.steps() {
		w.Answer.Apply(answer.Change{Kind: answer.Text, Step: s.Next, Text: s.Held.Text})
		w.Trace.Actions = append(w.Trace.Actions, reply)
	} else {
		if err := w.conclude(ctx, st, s.Next); err != nil {
			return err
		}
		s.Step++
	}
	calls := restoreCalls(s.Held.Calls)
	if w.Calls.Over() || len(calls) == 0 {
		return nil
	}
	w.begin(calls, s.Next, true)
	w.Trace.called(calls, w.Calls.Toolbox)
	return w.actForm(ctx, st, State{Step: s.Step, Next: s.Next + 1, Calls: storeCalls(calls), Written: true})
}
