package generate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/core/answer"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/internal/lang"
)

// tryNext moves on to the next model after r failed with err, and withdraws the visible text of r. Calls of earlier
// rounds stay, with their results. It returns false if no other model can continue: then err is the result. A round
// that continues an earlier text can't be withdrawn alone, and neither can calls that the provider has run.
func (w *Writer) tryNext(r *round, err error) bool {
	failed := w.Route.Current().Name
	if r.rest && r.visible || r.remote || !w.Route.Next(err) {
		return false
	}
	w.Trace.Failovers++
	w.Log.Warn("a model failed; another one continues", "run", w.Info.Run, "model", failed, "next", w.Route.Current().Name, "withdrawn_bytes", r.text.Len(), "err", err)
	w.notice(r.step, w.anotherModel(failed)) // first: readers must not see text disappear without the reason
	r.takeBack()
	return true
}

// anotherModel returns the notice that another model answers instead of usual. Only the owner sees names of models.
func (w *Writer) anotherModel(usual string) string {
	if t := w.Calls.Turn; t.Owner && t.Private {
		return lang.Say(w.Calls.Life, "notice.another_model_named", "usual", usual, "model", w.Route.Current().Name)
	}
	return lang.Say(w.Calls.Life, "notice.another_model")
}

// takeBack withdraws the visible text of r, and ends its visible calls. None of them was made: calls are made only
// after their round.
func (r *round) takeBack() {
	if !r.visible {
		return
	}
	if r.text.Len() > 0 {
		r.w.Answer.Apply(answer.Change{Kind: answer.Withdrawn, Step: r.step})
	}
	r.w.Calls.ClearStatuses()
	for _, c := range r.calls {
		if c.ID != "" {
			r.w.Calls.Stage(c, answer.Tool{Stage: answer.StageEnd, Error: lang.Say(r.w.Calls.Life, "tool.model_failed")})
		}
	}
}

// notice shows users that another model answers, and the reason. Only the first notice of an answer is shown.
func (w *Writer) notice(step int, why string) {
	if w.noticed {
		return
	}
	w.noticed = true
	w.Answer.Apply(answer.Change{Kind: answer.Text, Step: step, Notice: true, Text: "_(" + why + ")_"})
}

// requestFor returns the request to m. A fallback with a smaller context window than the models before gets a shorter
// prompt. If even the question exceeds it, it fails as a model with a full context window does, and the next model is
// tried.
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
	if err == nil {
		req.Session, err = w.session(ctx, m)
	}
	return req, err
}

// session returns the session of a model that remembers, or nil. It fails with the error of the store.
func (w *Writer) session(ctx context.Context, m llm.Named) (*llm.Session, error) {
	if !m.Remembers || w.Sessions == nil {
		return nil, nil
	}
	return w.Sessions.Open(ctx, m.Name)
}

// keepState stores the state that a complete output leaves for the next request of its session. It fails with the error
// of the store.
func (w *Writer) keepState(ctx context.Context, req llm.Request, r *round) error {
	if req.Session == nil || r.keeps == nil {
		return nil
	}
	return w.Sessions.Keep(ctx, w.Route.Current().Name, r.keeps)
}

// adapt returns req in the form that the current model accepts.
func (w *Writer) adapt(req llm.Request) llm.Request {
	m := w.Route.Current()
	req = adaptTo(m, req)
	req.Readable = m.Thinking == llm.ThinkingFull
	return req
}

// adaptTo returns req in the form that m accepts: only models with vision accept images, and some have no tools. req is
// not changed, because the next model may accept all of it: changed messages are copied.
func adaptTo(m llm.Named, req llm.Request) llm.Request {
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

// continuations is the maximum number of requests for the rest of a truncated answer.
const continuations = 2

// truncated reports whether the length limit of the model has truncated the text, and nothing else. If the round has
// calls, some of them may be missing; such an answer is not continued but ends with a note.
func (r *round) truncated() bool {
	for _, c := range r.calls {
		if r.reservedAction(c) != reply {
			return false
		}
	}
	return r.finish == llm.FinishLength && r.open && !r.hidden && !r.blank() && !r.wrote.Cut
}

// continueText requests the rest of a truncated answer and appends it as it streams in. If the model returns nothing,
// or the prompt is now too long, the answer remains truncated and ends with a note. That is no error, since most of the
// answer is there. It fails with the error of the model otherwise.
func (w *Writer) continueText(ctx context.Context, st *prompt.Builder, r *round) error {
	asksForm := r.form || st.AsksForm(prompt.ContinueAnswer)
	for n := 0; n < continuations && r.truncated(); n++ {
		rest, err := w.fill(ctx, st, prompt.ContinueAnswer, &round{w: w, form: asksForm, rest: true, step: r.step}, nil)
		var f *llm.Failure
		switch {
		case errors.Is(err, errEmpty), errors.As(err, &f) && f.Kind == llm.PromptTooLong:
			return nil // it remains truncated, and ends with a note
		case err != nil:
			return err
		}
		r.text.WriteString(rest.text.String())
		r.finish, r.open, r.wrote.Cut = rest.finish, rest.open, rest.wrote.Cut
	}
	return nil
}
