package generate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/core/answer"
	"parley/core/llm"
	"parley/core/prompt"
)

// another moves on to the next model after r failed with err, and takes back what people have seen of r. Calls of
// earlier rounds stay, with their results. It returns false if no other model can continue: then err is the result.
// Half of a text that goes on with an earlier one can't be taken back alone, and neither can what the model's own side
// has done.
func (w *Writer) another(r *round, err error) bool {
	failed := w.Route.Current().Name
	if r.rest && r.visible || r.remote || !w.Route.Next(err) {
		return false
	}
	w.Log.Warn("a model failed; another one continues", "run", w.Info.Run, "model", failed, "next", w.Route.Current().Name, "withdrawn_bytes", r.text.Len(), "err", err)
	w.notice(r.step, w.anotherModel(failed)) // first: readers must not see text disappear without the reason
	r.takeBack()
	return true
}

// anotherModel is the notice that another model answers than the one of that name. Names are for the owner alone.
func (w *Writer) anotherModel(usual string) string {
	if t := w.Calls.Turn; t.Owner && t.Private {
		return answer.AnotherModelNamed(usual, w.Route.Current().Name)
	}
	return answer.AnotherModel
}

// takeBack withdraws the visible text of r, and ends the calls that people have seen the beginning of. None of them was
// made: calls are made only after their round.
func (r *round) takeBack() {
	if !r.visible {
		return
	}
	if r.text.Len() > 0 {
		r.w.Answer.Apply(answer.Change{Kind: answer.Withdrawn, Step: r.step})
	}
	for _, c := range r.calls {
		if c.ID != "" {
			r.w.Calls.Stage(c, answer.Tool{Stage: answer.StageEnd, Error: "The model failed before this was complete."})
		}
	}
}

// notice tells people that another model answers, and why. Only the first notice of an answer is shown.
func (w *Writer) notice(step int, why string) {
	if w.noticed {
		return
	}
	w.noticed = true
	w.Answer.Apply(answer.Change{Kind: answer.Text, Step: step, Notice: true, Text: why})
}

// requestFor returns what m is asked. A fallback with less room for a prompt than the models before gets a shorter one;
// if not even the question fits, it fails as a model does that has too little room, and the next one is tried.
func (w *Writer) requestFor(ctx context.Context, m llm.Named, ask build) (llm.Request, error) {
	limit := w.prompts.LimitFor(m.Prompt)
	if limit >= w.room {
		limit = 0
	}
	req, err := ask(ctx, limit)
	var f *llm.Failure
	switch {
	case limit > 0 && err == nil:
		w.room = limit
	case limit > 0 && errors.As(err, &f) && f.Kind == llm.PromptTooLong:
		w.prompts.Shorten(w.room)
		err = &llm.Failure{Kind: llm.ConversationTooLong, Err: fmt.Errorf("the prompt does not fit into the %d tokens of %s: %w", limit, m.Name, err)}
	}
	req.Messages = llm.NormalizeMessages(req.Messages)
	return req, err
}

// seen returns req as the current model can take it.
func (w *Writer) seen(req llm.Request) llm.Request {
	m := w.Route.Current()
	req = seenBy(m, req)
	req.Readable = m.Thinking == llm.ThinkingFull
	return req
}

// seenBy returns req as m can take it: only models with vision accept images, and some have no tools. req is not
// changed, because the next model may take all of it: the messages are copied where they differ.
func seenBy(m llm.Named, req llm.Request) llm.Request {
	if m.NoTools {
		req = withoutTools(req)
	}
	if m.Vision {
		return req
	}
	for i, message := range req.Messages {
		if len(message.Images) == 0 {
			continue
		}
		all := make([]llm.Message, len(req.Messages))
		copy(all, req.Messages)
		for j := i; j < len(all); j++ {
			all[j].Images = nil
		}
		req.Messages = all
		return req
	}
	return req
}

// withoutTools returns req without tools. Calls that were made, and their results, become text, so that a model without
// tools can continue the answer of one with tools. A message of calls alone would be empty, and is left out.
func withoutTools(req llm.Request) llm.Request {
	req.Tools = nil
	all := make([]llm.Message, len(req.Messages))
	names := map[string]string{} // of calls, by id
	for i, m := range req.Messages {
		for _, c := range m.Calls {
			names[c.ID] = c.Name
		}
		if m.Role == llm.RoleTool {
			m = llm.Message{Role: llm.RoleUser, Context: true, Text: "Result of " + names[m.Call] + ":\n" + m.Text}
		}
		m.Calls, m.Opaque = nil, nil
		all[i] = m
	}
	req.Messages = slices.DeleteFunc(all, func(m llm.Message) bool { return m.Role == llm.RoleAssistant && m.Text == "" })
	return req
}

// continuations is how often the rest is asked for of an answer that was cut off.
const continuations = 2

// severed reports whether the length limit of the model has cut off the text, and nothing else. With calls, half of
// what was to be done may be lost; then the answer is not continued but ends with a note.
func (r *round) severed() bool {
	for _, c := range r.calls {
		if r.reservedAction(c) != reply {
			return false
		}
	}
	return r.finish == llm.FinishLength && r.open && !r.hidden && !r.blank() && !r.wrote.Cut
}

// continueText asks for the rest of an answer that was cut off. It is appended as it comes, as if it were of one piece.
// If the model returns nothing, or the prompt is now too long, the answer stays cut off and ends with a note; that is
// no error, since most of it is there.
func (w *Writer) continueText(ctx context.Context, st *prompt.Builder, r *round) error {
	asksForm := r.form || st.AsksForm(prompt.ContinueAnswer)
	for n := 0; n < continuations && r.severed(); n++ {
		rest, err := w.fill(ctx, st, prompt.ContinueAnswer, &round{w: w, form: asksForm, rest: true, step: r.step}, nil)
		var f *llm.Failure
		switch {
		case errors.Is(err, errEmpty), errors.As(err, &f) && f.Kind == llm.PromptTooLong:
			return nil // it stays cut off, and ends with a note
		case err != nil:
			return err
		}
		r.text.WriteString(rest.text.String())
		r.finish, r.open, r.wrote.Cut = rest.finish, rest.open, rest.wrote.Cut
	}
	return nil
}
