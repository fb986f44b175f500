package generate

import (
	"context"
	"slices"

	"parley/core/llm"
	"parley/core/prompt"
)

// native builds the requests of native rounds: the prompt, followed by the output of the model and the results of its
// calls.
type native struct {
	st     *prompt.Builder
	prompt llm.Request // built once, so that it stays the same for the provider's cache
	rounds []llm.Message
	last   bool // it gets no tools, so that it answers
}

// request implements [build].
func (n *native) request(ctx context.Context, limit int) (llm.Request, error) {
	if limit > 0 {
		n.st.Shorten(limit - llm.EstimateTokens(llm.Request{Messages: n.rounds}))
	}
	if limit > 0 || n.prompt.Messages == nil {
		req, err := n.st.Request(ctx)
		if err != nil {
			return req, err
		}
		n.prompt = req // with all that the asker has written until now
		n.rounds = slices.DeleteFunc(n.rounds, func(m llm.Message) bool { return m.Role == llm.RoleUser })
	}
	req := n.prompt
	if len(n.rounds) > 0 {
		req.Messages = slices.Concat(req.Messages, n.rounds)
	}
	if n.last {
		req.Tools = nil
	}
	return req, nil
}

// generateNative makes rounds of the model, with the requested actions between them. The last round gets no tools, so
// that it answers. It fails with errEndless if the model calls tools without having any.
func (w *Writer) generateNative(ctx context.Context, st *prompt.Builder) error {
	asks, n, step := &native{st: st}, 0, 0
	if w.State != nil {
		if over, err := w.goOnNative(ctx, asks); over || err != nil {
			return err
		}
		n, step = w.State.Step+1, w.State.Next
	}
	most := w.steps()
	if w.Route.Current().Agent { // its rounds are its questions
		most = maxQuestions
	}
	for ; n < most; n++ {
		asks.last = n == most-1
		if err := w.steer(ctx, asks); err != nil {
			return err
		}
		if n > 0 {
			w.before = func() State { return State{Step: n - 1, Next: step, Rounds: storeMessages(asks.rounds)} }
		}
		r, err := w.round(ctx, asks.request, &round{w: w, step: step})
		if err != nil {
			return err
		}
		if over, err := w.followNative(ctx, asks, n, r); over || err != nil {
			return err
		}
		step = r.step + 1 // calls that the provider ran divide the text of a round
	}
	return nil
}

// steer adds later messages of the asker below the rounds so far, unless the next one is the last.
func (w *Writer) steer(ctx context.Context, asks *native) error {
	if w.Steer == nil || asks.last || w.Route.Current().Agent {
		return nil
	}
	joined, err := w.Steer(ctx)
	if asks.prompt.Messages != nil { // otherwise the prompt will have them
		asks.rounds = append(asks.rounds, joined...)
	}
	return err
}

// maxQuestions is the maximum number of times that an agent can ask its user in one answer.
const maxQuestions = 50

// goOnNative makes the remaining calls of a round that has parked the run. It fails like [Writer.Write].
func (w *Writer) goOnNative(ctx context.Context, asks *native) (over bool, err error) {
	asks.rounds = restoreMessages(w.State.Rounds)
	return w.actNative(ctx, asks, *w.State)
}

// followNative makes the calls of round n, and reports whether the turn is over. It fails like [Writer.Write].
func (w *Writer) followNative(ctx context.Context, asks *native, n int, r *round) (over bool, err error) {
	if err := w.resolveReservedActions(ctx, asks.st, r); err != nil || len(r.calls) == 0 {
		return true, err
	}
	if asks.last {
		return false, errEndless
	}
	// Opaque is provider data that must be returned unchanged, such as signed reasoning. Without it, some providers
	// refuse the next round.
	if m := w.Route.Current(); m.Agent { // it asks its user, and no other model can continue for it
		w.Only = []string{m.Name}
	}
	asks.rounds = append(asks.rounds, llm.Message{Role: llm.RoleAssistant, Text: r.text.String(), Calls: r.calls, Opaque: r.opaque})
	return w.actNative(ctx, asks, State{Step: n, Next: r.step + 1, Calls: storeCalls(r.calls)})
}

// actNative makes the calls of s, and adds their results to the rounds. It reports whether the turn is over. The rounds
// are stored with s in case a call parks the run; the prompt before them is built again from the room. It fails like
// [Writer.Write].
func (w *Writer) actNative(ctx context.Context, asks *native, s State) (over bool, err error) {
	s.Rounds = storeMessages(asks.rounds)
	results, err := w.actAll(ctx, s)
	if err != nil {
		return false, err
	}
	if w.Calls.Over() {
		return true, w.Calls.RequireOutput()
	}
	asks.rounds = append(asks.rounds, results...)
	return false, nil
}
