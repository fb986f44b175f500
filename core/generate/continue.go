package generate

import (
	"context"
	"errors"

	"parley/core/llm"
	"parley/core/prompt"
)

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
